"""Write a trained network as a Hugging Face folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer

from .net import Net, Shape
from .tokenizer import CHAT_TEMPLATE, END, END_TURN


def config(shape: Shape, tokenizer: Tokenizer) -> dict[str, Any]:
    """The contents of ``config.json``."""
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "attention_bias": False,
        "bos_token_id": tokenizer.token_to_id(END),
        "dtype": "bfloat16",
        "eos_token_id": tokenizer.token_to_id(END_TURN),
        "head_dim": shape.head_dim,
        "hidden_act": "silu",
        "hidden_size": shape.hidden,
        "intermediate_size": shape.ffn,
        "max_position_embeddings": shape.max_len,
        "model_type": "qwen3",
        "num_attention_heads": shape.heads,
        "num_hidden_layers": shape.layers,
        "num_key_value_heads": shape.kv_heads,
        "pad_token_id": tokenizer.token_to_id(END),
        "rms_norm_eps": shape.eps,
        "rope_parameters": {"rope_theta": shape.theta, "rope_type": "default"},
        "rope_theta": shape.theta,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "use_sliding_window": False,
        "vocab_size": shape.vocab,
    }


def export(net: Net, shape: Shape, tokenizer: Tokenizer, folder: Path) -> None:
    """Write config, generation config, tokenizer and bfloat16 weights to ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        f"model.{n}": w.detach().to("cpu", torch.bfloat16).contiguous() for n, w in net.named_parameters()
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    stops = [tokenizer.token_to_id(END_TURN), tokenizer.token_to_id(END)]
    files: dict[str, dict[str, Any]] = {
        "config.json": config(shape, tokenizer),
        "generation_config.json": {"do_sample": False, "eos_token_id": stops, "pad_token_id": stops[1]},
        "tokenizer_config.json": {
            "chat_template": CHAT_TEMPLATE,
            "clean_up_tokenization_spaces": False,
            "eos_token": END_TURN,
            "model_max_length": shape.max_len,
            "pad_token": END,
            "tokenizer_class": "PreTrainedTokenizerFast",
        },
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
