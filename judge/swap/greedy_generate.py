"""Exercise 160: the loop of the one-file engine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from judge.swap.one_file import OneFileEngine, put


def drive(engine: OneFileEngine, greedy_generate: Callable[..., list[int]]) -> AbstractContextManager[None]:
    """Every prompt is continued by the function."""
    return put(engine, "greedy_generate", greedy_generate)
