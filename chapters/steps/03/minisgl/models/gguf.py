"""From a GGUF file's metadata and tensors to those that Hugging Face has for the same model."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from ..utils import check_count
from ..utils.gguf_file import GGUFFile
from .config import ModelConfig, RotaryConfig

_ARCHITECTURES = {
    "llama": "LlamaForCausalLM",  # Mistral, too: it differs in nothing that is computed
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}
_TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
_LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_BLOCK = re.compile(r"blk\.(\d+)\.(\w+)\.(weight|bias)")
_ROPE_FACTORS = "rope_freqs.weight"
_LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192.0}


def config_from_gguf(path: Path) -> ModelConfig:
    """The shape of the model in a GGUF file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or a model that this engine cannot serve.
    """
    file = GGUFFile(path)
    try:
        return _config(file)
    except KeyError as error:
        raise ValueError(f"{path} lacks {error.args[0]}") from error
    except TypeError as error:
        raise ValueError(f"{path} has metadata of a wrong type: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def iter_gguf(path: Path, device: torch.device, dtype: torch.dtype) -> Iterator[tuple[str, torch.Tensor]]:
    """All tensors of a GGUF file under Hugging Face names, one at a time.

    They are on `device`. Quantized ones become `dtype`, the others are as they are stored.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or a tensor cannot be dequantized; the message names it.
    """
    file = GGUFFile(path)
    for name in file.tensors:
        if name == _ROPE_FACTORS:  # the config has what it says
            continue
        tensor = file.read(name, device, dtype)
        block = _BLOCK.fullmatch(name)
        if block is None:
            yield _TOP.get(name, name), tensor
            continue
        layer, part, kind = block.groups()
        if part in ("attn_q", "attn_k") and file.fields["general.architecture"] == "llama":
            heads = "head_count" if part == "attn_q" else "head_count_kv"
            tensor = unpermute(tensor, file.fields[f"llama.attention.{heads}"])
        yield f"model.layers.{layer}.{_LAYER.get(part, part)}.{kind}", tensor


def unpermute(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    """Rows of a q or k projection, [heads * head_dim, ...], from llama.cpp's order to Hugging Face's.

    For Llama llama.cpp rotates neighbouring dimensions, and so stores the halves of each head interleaved.
    """
    half = len(tensor) // heads // 2
    return tensor.view(heads, half, 2, *tensor.shape[1:]).transpose(1, 2).reshape(tensor.shape)


def _config(file: GGUFFile) -> ModelConfig:
    architecture = file.fields["general.architecture"]
    if architecture not in _ARCHITECTURES:
        raise ValueError(
            f"architecture {architecture!r} is not supported; supported are {', '.join(_ARCHITECTURES)}"
        )
    if file.fields.get("split.count", 1) > 1:
        raise ValueError("it is one part of several: join them with llama-gguf-split --merge")

    def get(name: str, default: Any = None) -> Any:
        full_name = f"{architecture}.{name}"
        return file.fields[full_name] if default is None else file.fields.get(full_name, default)

    if get("attention.sliding_window", 0):
        raise ValueError(
            f"sliding window attention ({get('attention.sliding_window')} tokens) is not supported"
        )
    num_heads = get("attention.head_count")
    check_count(f"{architecture}.attention.head_count", num_heads)
    check_count(f"{architecture}.embedding_length", get("embedding_length"))
    head_dim = get("attention.key_length", 0) or get("embedding_length") // num_heads
    for name in ("attention.value_length", "rope.dimension_count"):
        if get(name, head_dim) != head_dim:
            raise ValueError(f"{architecture}.{name} is {get(name)}, but heads have {head_dim} dimensions")
    if get("expert_count", 0):
        raise ValueError(f"architecture {architecture!r} with experts is not supported")
    return ModelConfig(
        architecture=_ARCHITECTURES[architecture],
        num_layers=get("block_count"),
        hidden_size=get("embedding_length"),
        num_qo_heads=num_heads,
        num_kv_heads=get("attention.head_count_kv", num_heads),
        head_dim=head_dim,
        intermediate_size=get("feed_forward_length"),
        vocab_size=file.tensors["token_embd.weight"].shape[0],
        rms_norm_eps=_short(get("attention.layer_norm_rms_epsilon")),
        rotary_config=_rotary_config(file, architecture, head_dim),
        tie_word_embeddings="output.weight" not in file.tensors,
        qk_norm=architecture == "qwen3",
        qkv_bias="blk.0.attn_q.bias" in file.tensors,
        o_bias="blk.0.attn_output.bias" in file.tensors,
        mlp_bias="blk.0.ffn_gate.bias" in file.tensors,
        dtype=_dtype(file),
        eos_token_ids=_end_tokens(file),
    )


def _rotary_config(file: GGUFFile, architecture: str, head_dim: int) -> RotaryConfig:
    fields = {
        name.removeprefix(f"{architecture}.rope."): value
        for name, value in file.fields.items()
        if name.startswith(f"{architecture}.rope.")
    }
    base, context = fields.get("freq_base", 10000.0), file.fields[f"{architecture}.context_length"]
    rotary = RotaryConfig(head_dim, context, _short(base))
    kind = fields.get("scaling.type", "none")
    if _ROPE_FACTORS in file.tensors:
        return _llama3_config(file, rotary)
    if kind == "none" or (kind == "yarn" and fields.get("scaling.factor", 1.0) == 1.0):
        return rotary
    if kind != "yarn":
        raise ValueError(f"rope scaling {kind!r} is not supported; supported are none, yarn")
    factor = _short(fields["scaling.factor"])
    scaling = {
        "factor": factor,
        "original_max_position_embeddings": float(fields["scaling.original_context_length"]),
        "beta_fast": _short(fields.get("scaling.yarn_beta_fast", 32.0)),
        "beta_slow": _short(fields.get("scaling.yarn_beta_slow", 1.0)),
    }
    # What llama.cpp multiplies the paper's factor by.
    scale = fields.get("scaling.attn_factor", fields.get("scaling.yarn_attn_factor", 1.0))
    if scale != 1.0:
        scaling["attention_factor"] = _short(scale) * (0.1 * math.log(factor) + 1)
    return RotaryConfig(head_dim, context, _short(base), "yarn", scaling)


def _llama3_config(file: GGUFFile, plain: RotaryConfig) -> RotaryConfig:
    """Llama 3's scaling: the file has what it divides each frequency by, and not how that was computed."""
    from ..layers.rotary import inverse_frequencies, llama3_frequencies

    divisors = file.read(_ROPE_FACTORS, torch.device("cpu"), torch.float32).float()
    factor = _short(divisors.max().item())
    scaling = {"factor": factor, **_LLAMA3}
    inverse = inverse_frequencies(plain.head_dim, plain.base)
    expected = llama3_frequencies(inverse, factor, 1.0, 4.0, 8192)
    if divisors.shape != inverse.shape or not torch.allclose(inverse / divisors, expected, rtol=1e-4):
        raise ValueError(f"{_ROPE_FACTORS} scales positions in a way that is not Llama 3's")
    return RotaryConfig(plain.head_dim, plain.max_position, plain.base, "llama3", scaling)


def _dtype(file: GGUFFile) -> torch.dtype:
    """The dtype to serve in on a GPU: what the matrices have, or bfloat16 for quantized ones."""
    kinds = {"F32": torch.float32, "F16": torch.float16}
    return kinds.get(file.tensors["blk.0.attn_q.weight"].kind, torch.bfloat16)


def _end_tokens(file: GGUFFile) -> tuple[int, ...]:
    given = (file.fields.get(f"tokenizer.ggml.{name}_token_id") for name in ("eos", "eot", "eom"))
    return tuple(dict.fromkeys(token for token in given if token is not None))


def _short(value: float) -> float:
    """A float32 as the number that was meant: 1e-06 and not 9.999999974752427e-07."""
    return float(f"{value:.7g}") if isinstance(value, float) else value
