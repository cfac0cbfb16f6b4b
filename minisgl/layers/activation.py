"""The gate of the feed-forward network."""

from __future__ import annotations

import torch

from .. import kernel


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up of x [N, 2 * size], which holds gate and up side by side; result [N, size]."""
    return kernel.silu_and_mul(x)
