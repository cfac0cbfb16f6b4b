"""Random weights, made by each rank for itself: a large model then need not come from anywhere."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import torch

from minisgl.engine import engine
from minisgl.models import BaseLLMModel


def use_random_weights() -> None:
    """From now on engines of this process fill their models with random numbers and read no checkpoint."""
    engine.load_weights = _no_weights
    engine.fill_model = _fill_model


def _no_weights(*args: Any, **settings: Any) -> Iterator[tuple[str, torch.Tensor]]:
    return iter(())


def _fill_model(model: BaseLLMModel, pairs: object, *, tied: bool, origin: str) -> None:
    generator = torch.Generator(torch.device("cuda", torch.cuda.current_device()))
    state: dict[str, torch.Tensor] = {}
    for name, weight in model.state_dict().items():
        generator.manual_seed(zlib.crc32(name.encode()))  # what all ranks have whole is the same for all
        if "norm" in name:
            state[name] = torch.ones(weight.shape, dtype=weight.dtype, device="cuda")
        else:
            numbers = torch.randn(weight.shape, generator=generator, dtype=weight.dtype, device="cuda")
            state[name] = numbers.mul_(0.02)
    model.load_state_dict(state)
