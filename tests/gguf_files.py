"""Writes models as GGUF files with the package's own writer, as llama.cpp's converter would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from gguf import GGMLQuantizationType as Kind
from tokenizers import pre_tokenizers

from minisgl.models.config import ModelConfig

ARCHITECTURES = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "llama",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3MoeForCausalLM": "qwen3moe",
}
MODEL_ARCH = {name: arch for arch, name in gguf.MODEL_ARCH_NAMES.items()}


def permute(weight: torch.Tensor, heads: int) -> torch.Tensor:
    """What the converter does to Llama's q and k: interleave the two halves of each head."""
    return weight.view(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def gguf_tensors(config: ModelConfig, weights: dict[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """The tensors of a model in Hugging Face names, as the file has them."""
    arch = ARCHITECTURES[config.architecture]
    names = gguf.get_tensor_name_map(MODEL_ARCH[arch], config.num_layers)
    result: dict[str, np.ndarray] = {}
    experts: dict[str, list[torch.Tensor]] = {}
    for name, weight in weights.items():
        if ".experts." in name:
            before, _, after = name.partition(".experts.")
            part = after.split(".", 1)[1].removesuffix(".weight")
            experts.setdefault(f"{before}.experts.{part}", []).append(weight)
            continue
        if arch == "llama" and ".q_proj." in name:
            weight = permute(weight, config.num_qo_heads)
        if arch == "llama" and ".k_proj." in name:
            weight = permute(weight, config.num_kv_heads)
        result[_name(names, name)] = weight.float().numpy()
    for name, matrices in experts.items():
        result[_name(names, name + ".weight")] = torch.stack(matrices).float().numpy()
    return result


def _name(names: gguf.TensorNameMap, name: str) -> str:
    result = names.get_name(name, try_suffixes=(".weight", ".bias"))
    assert result is not None, name
    return result


def fields_of(config: ModelConfig) -> dict[str, Any]:
    """The metadata that says the model's shape."""
    arch = ARCHITECTURES[config.architecture]
    fields = {
        "context_length": config.rotary_config.max_position,
        "embedding_length": config.hidden_size,
        "block_count": config.num_layers,
        "feed_forward_length": config.intermediate_size,
        "attention.head_count": config.num_qo_heads,
        "attention.head_count_kv": config.num_kv_heads,
        "attention.key_length": config.head_dim,
        "attention.value_length": config.head_dim,
        "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
        "rope.freq_base": config.rotary_config.base,
    }
    if config.num_experts:
        fields |= {
            "expert_count": config.num_experts,
            "expert_used_count": config.num_experts_per_tok,
            "expert_feed_forward_length": config.moe_intermediate_size,
        }
    return {f"{arch}.{name}": value for name, value in fields.items()}


def tokenizer_fields(pre: str, extra: int = 4) -> dict[str, Any]:
    """A vocabulary of all bytes, a merge, and the special tokens of ChatML."""
    tokens = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "he", "12"]
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": pre,
        "tokenizer.ggml.tokens": tokens + special,
        "tokenizer.ggml.token_type": [1] * len(tokens) + [3] * len(special),
        "tokenizer.ggml.merges": ["h e", "1 2"],
        "tokenizer.ggml.bos_token_id": len(tokens) + 1,
        "tokenizer.ggml.eos_token_id": len(tokens) + 2,
        "tokenizer.chat_template": "{{ bos_token }}{{ messages[0]['content'] }}",
    }


def write_gguf(
    path: Path,
    config: ModelConfig,
    weights: dict[str, torch.Tensor],
    kind: Kind = Kind.F32,
    tensors: dict[str, np.ndarray] | None = None,
    **fields: Any,
) -> None:
    """The model as a file; matrices in the quantization `kind`, vectors in float32.

    `fields` are more metadata; None takes an entry away. `tensors` are stored as they are.
    """
    writer = gguf.GGUFWriter(path, ARCHITECTURES[config.architecture])
    for name, value in {**fields_of(config), **fields}.items():
        if value is not None:
            _add(writer, name, value)
    for name, values in gguf_tensors(config, weights).items():
        if tensors is not None and name in tensors:
            continue
        if values.ndim == 1 or kind == Kind.F32:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quantize(values, kind), raw_dtype=kind)
    for name, values in (tensors or {}).items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _add(writer: gguf.GGUFWriter, name: str, value: Any) -> None:
    if isinstance(value, list):
        writer.add_array(name, value)
    elif isinstance(value, str):
        writer.add_string(name, value)
    elif isinstance(value, bool):
        writer.add_bool(name, value)
    elif isinstance(value, float):
        writer.add_float32(name, value)
    else:
        writer.add_uint32(name, value)
