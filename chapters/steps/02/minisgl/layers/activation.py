"""The gate of the feed-forward network."""

from __future__ import annotations

import torch
import torch.nn.functional as F


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up of x [N, 2 * size], which holds gate and up side by side; result [N, size]."""
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up
