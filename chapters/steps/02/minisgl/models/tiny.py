"""Random models of a few kilobytes: the same mechanisms as the large ones, and a fresh one for every seed.

The first of them, `tiny_config()`, is the course's T0: vocabulary 512, hidden size 64, two layers, 4 query
and 2 key/value heads of 16, feed-forward 128, tied, float32; 106,880 parameters, 512 bytes of KV a token.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import torch

from .config import ModelConfig, RotaryConfig

Arch = Literal["qwen3", "qwen2", "llama"]

_ARCHITECTURES = {"qwen3": "Qwen3ForCausalLM", "qwen2": "Qwen2ForCausalLM", "llama": "LlamaForCausalLM"}
_VOCAB_SIZE = 512


def tiny_config(arch: Arch = "qwen3", **overrides: Any) -> ModelConfig:
    """Shape of a tiny model; `overrides` are fields of ModelConfig."""
    config = ModelConfig(
        architecture=_ARCHITECTURES[arch],
        num_layers=2,
        hidden_size=64,
        num_qo_heads=4,
        num_kv_heads=2,
        head_dim=16,
        intermediate_size=128,
        vocab_size=_VOCAB_SIZE,
        rms_norm_eps=1e-6,
        rotary_config=RotaryConfig(head_dim=16, max_position=2048, base=10000.0),
        tie_word_embeddings=True,
        qk_norm=arch == "qwen3",
        qkv_bias=arch == "qwen2",
    )
    return replace(config, **overrides)


def tiny_state_dict(config: ModelConfig, seed: int) -> dict[str, torch.Tensor]:
    """Random weights, float32, under the names of Hugging Face checkpoints.

    Matrices and biases have standard deviation 1/8, the embedding 0.02, norm weights are uniform between 0.5
    and 1.5. With 0.02 everywhere a tied model only repeats its last token, and hides nearly every error.
    """
    generator = torch.Generator().manual_seed(seed)
    weights: dict[str, torch.Tensor] = {}
    for name, shape in _shapes(config).items():
        if "norm" in name:
            weights[name] = torch.rand(shape, generator=generator) + 0.5
        else:
            deviation = 0.02 if name == "model.embed_tokens.weight" else 1 / 8
            weights[name] = torch.randn(shape, generator=generator) * deviation
    return weights


def hf_config_dict(config: ModelConfig) -> dict[str, Any]:
    """The `config.json` that describes `config`, as transformers 5 writes it."""
    rotary = config.rotary_config
    return {
        "architectures": [config.architecture],
        "model_type": config.architecture.removesuffix("ForCausalLM").lower(),
        "num_hidden_layers": config.num_layers,
        "hidden_size": config.hidden_size,
        "num_attention_heads": config.num_qo_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "intermediate_size": config.intermediate_size,
        "vocab_size": config.vocab_size,
        "rms_norm_eps": config.rms_norm_eps,
        "max_position_embeddings": rotary.max_position,
        "rope_parameters": {"rope_type": rotary.kind, "rope_theta": rotary.base, **rotary.scaling},
        "tie_word_embeddings": config.tie_word_embeddings,
        "attention_bias": config.o_bias,
        "mlp_bias": config.mlp_bias,
        "hidden_act": "silu",
        "use_sliding_window": False,
        "dtype": str(config.dtype).removeprefix("torch."),
        "eos_token_id": list(config.eos_token_ids) or None,
    }


def prompt(i: int, n: int) -> list[int]:
    """The course's i-th example prompt, P(i, n): n token ids, the same everywhere."""
    return [(37 * i + 11 * j + 3) % _VOCAB_SIZE for j in range(n)]


def _shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    hidden, ffn, dim = config.hidden_size, config.intermediate_size, config.head_dim
    rows = {"q": config.num_qo_heads * dim, "k": config.num_kv_heads * dim, "v": config.num_kv_heads * dim}
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocab_size, hidden)}
    for layer in range(config.num_layers):
        prefix = f"model.layers.{layer}."
        attn, mlp = prefix + "self_attn.", prefix + "mlp."
        for part, size in rows.items():
            shapes[f"{attn}{part}_proj.weight"] = (size, hidden)
            if config.qkv_bias:
                shapes[f"{attn}{part}_proj.bias"] = (size,)
        shapes[f"{attn}o_proj.weight"] = (hidden, rows["q"])
        if config.o_bias:
            shapes[f"{attn}o_proj.bias"] = (hidden,)
        if config.qk_norm:
            shapes[f"{attn}q_norm.weight"] = shapes[f"{attn}k_norm.weight"] = (dim,)
        for part, shape in (("gate", (ffn, hidden)), ("up", (ffn, hidden)), ("down", (hidden, ffn))):
            shapes[f"{mlp}{part}_proj.weight"] = shape
            if config.mlp_bias:
                shapes[f"{mlp}{part}_proj.bias"] = shape[:1]
        shapes[f"{prefix}input_layernorm.weight"] = (hidden,)
        shapes[f"{prefix}post_attention_layernorm.weight"] = (hidden,)
    shapes["model.norm.weight"] = (hidden,)
    if not config.tie_word_embeddings:
        shapes["lm_head.weight"] = (config.vocab_size, hidden)
    return shapes
