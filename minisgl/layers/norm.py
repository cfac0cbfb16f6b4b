"""Root mean square normalization."""

from __future__ import annotations

import torch

from .. import kernel
from .base import BaseOP


class RMSNorm(BaseOP):
    """x / rms(x) * weight over the last dimension, of `size` elements."""

    def __init__(self, size: int, eps: float) -> None:
        self.weight = torch.empty(size)
        self._eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., size] to the same shape."""
        return kernel.rms_norm(x, self.weight, self._eps)

    @property
    def eps(self) -> float:
        return self._eps


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
        if residual is None:
            return kernel.rms_norm(x, self.weight, self._eps), x
        return kernel.fused_add_rms_norm(x, residual, self.weight, self._eps)

    @property
    def eps(self) -> float:
        return self._eps
