"""Comparing token sequences on the host, where a Python loop would cost more than the model's step."""

from __future__ import annotations

import torch


def fast_compare_key(a: torch.Tensor, b: torch.Tensor) -> int:
    """Length of the longest common prefix of two sequences of token ids.

    Args:
        a, b: 1-D tensors of one dtype, of any lengths.

    Returns:
        The first index where they differ, or the shorter length if they do not.

    Raises:
        ValueError: one is not 1-D, or their dtypes differ.
    """
    if a.ndim != 1 or b.ndim != 1 or a.dtype != b.dtype:
        raise ValueError(
            f"keys must be 1-D and of one dtype, not {a.dtype} of shape {tuple(a.shape)} and "
            f"{b.dtype} of shape {tuple(b.shape)}"
        )
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    if torch.equal(a, b):
        return n
    return int(torch.argmax((a != b).int()))  # of several largest elements the first
