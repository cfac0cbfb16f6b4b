"""Exercise 161: who may attend to whom in the one-file engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from judge.swap.install import SwapError
from judge.swap.one_file import OneFileEngine, put

if TYPE_CHECKING:
    import torch


def drive(
    engine: OneFileEngine, causal_mask: Callable[[int, int], torch.Tensor]
) -> AbstractContextManager[None]:
    """Attention asks the function for its mask, in every layer of every forward."""

    def checked(n_query: int, n_key: int) -> torch.Tensor:
        mask = causal_mask(n_query, n_key)
        if str(getattr(mask, "dtype", "")) != "torch.bool" or tuple(mask.shape) != (n_query, n_key):
            raise SwapError("swap_mask")
        return mask

    return put(engine, "causal_mask", checked)
