"""Arithmetic and torch helpers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def align_down(a: int, b: int) -> int:
    """The largest multiple of b that is at most a."""
    return a // b * b


def align_up(a: int, b: int) -> int:
    """The smallest multiple of b that is at least a."""
    return cdiv(a, b) * b


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Make `dtype` the one of new floating-point tensors for a while."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)
