"""Backends for mixtures of experts."""

from __future__ import annotations

import torch

from .base import BaseMoeBackend, select_experts
from .torch_backend import TorchMoe

MOE_BACKENDS = ("auto", "torch", "fused")


def create_moe_backend(name: str, device: torch.device) -> BaseMoeBackend:
    """Make a backend by name; "auto" takes the best one for the device.

    Raises:
        ValueError: there is none of that name.
    """
    if name not in MOE_BACKENDS:
        raise ValueError(f"moe_backend must be one of {', '.join(MOE_BACKENDS)}, not {name!r}")
    if name == "auto":
        name = "fused" if device.type == "cuda" else "torch"
    if name == "fused":
        from .fused import FusedMoe

        return FusedMoe()
    return TorchMoe()


__all__ = ["MOE_BACKENDS", "BaseMoeBackend", "TorchMoe", "create_moe_backend", "select_experts"]
