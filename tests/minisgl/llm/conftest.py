"""Tiny random models, here and as transformers has them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pytest
import torch
import transformers
from peer_models import peer_model

from minisgl.models.tiny import tiny_config, tiny_state_dict

ARCHS = ("qwen3", "qwen2", "llama")


@cache
def tiny_model(arch: str = "qwen3", seed: int = 0):
    """A pair that `LLM` accepts as its model."""
    config = tiny_config(arch)
    return config, tiny_state_dict(config, seed)


@cache
def reference_model(arch: str, seed: int = 0) -> transformers.PreTrainedModel:
    return peer_model(*tiny_model(arch, seed))


def reference_tokens(arch: str, ids: Sequence[int], length: int, seed: int = 0) -> list[int]:
    """Greedy continuation by transformers."""
    return list(_reference_tokens(arch, tuple(ids), length, seed))


@cache
def _reference_tokens(arch: str, ids: tuple[int, ...], length: int, seed: int) -> list[int]:
    with torch.inference_mode():
        output = reference_model(arch, seed).generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=length,
            min_new_tokens=length,
            do_sample=False,
            pad_token_id=0,
        )
    return output[0, len(ids) :].tolist()


@pytest.fixture
def tiny():
    return tiny_model


@pytest.fixture
def reference():
    return reference_tokens
