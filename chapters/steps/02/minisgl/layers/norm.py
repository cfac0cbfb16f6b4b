"""Root mean square normalization."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from .base import BaseOP


class RMSNorm(BaseOP):
    """x / rms(x) * weight over the last dimension, of `size` elements."""

    def __init__(self, size: int, eps: float) -> None:
        self.weight = torch.empty(size)
        self._eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., size] to the same shape."""
        return F.rms_norm(x, self.weight.shape, self.weight, self._eps)


class RMSNormFused(BaseOP):
    """The norm together with the addition that precedes it: the residual stream stays unnormalized."""

    def __init__(self, size: int, eps: float) -> None:
        self.weight = torch.empty(size)
        self._eps = eps

    def forward(
        self, x: torch.Tensor, residual: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Add x [N, size] to the residual stream and normalize the sum.

        Returns:
            The normalized sum, for the next sublayer; the sum, which is the new residual stream.
        """
        total = x if residual is None else x + residual
        return F.rms_norm(total, self.weight.shape, self.weight, self._eps), total
