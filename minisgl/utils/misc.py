"""Integer arithmetic on pages."""

from __future__ import annotations


def div_ceil(a: int, b: int) -> int:
    """`a / b` rounded up: how many pages of `b` tokens hold `a` tokens."""
    return -(-a // b)


def align_down(a: int, b: int) -> int:
    """The largest multiple of `b` that is at most `a`: the tokens of `a` that fill whole pages."""
    return a // b * b
