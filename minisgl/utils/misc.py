"""Arithmetic, torch and file helpers."""

from __future__ import annotations

import json
import reprlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any

import torch


def is_int(value: object) -> bool:
    """Whether a value is an integer. A bool is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> bool:
    """Whether a value is a real number that a float can hold. A bool is not; NaN and the infinities are."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        float(value)
    except OverflowError:  # of an integer or a fraction; a tensor would refuse it later
        return False
    return True


def check_count(name: str, value: object) -> None:
    """ValueError unless `value` is an integer of at least 1; the message names it."""
    if not is_int(value) or value < 1:  # type: ignore[operator] # is_int has looked
        raise ValueError(f"{name} must be an integer of at least 1, not {reprlib.repr(value)}")


def cdiv(a: int, b: int) -> int:
    """a / b, rounded up."""
    return -(-a // b)


def align_down(a: int, b: int) -> int:
    """The largest multiple of b that is at most a."""
    return a // b * b


def align_up(a: int, b: int) -> int:
    """The smallest multiple of b that is at least a."""
    return cdiv(a, b) * b


def div_even(a: int, b: int, allow_replicate: bool = False) -> int:
    """a / b, which must leave no rest; 1 if `b` is a multiple of `a` and shares may be held more than once.

    Raises:
        ValueError: there is a rest.
    """
    if allow_replicate and b % a == 0:
        return 1
    if a % b:
        raise ValueError(f"{a} cannot be divided evenly by {b}")
    return a // b


def int_tensor(values: Sequence[int], dtype: torch.dtype = torch.int64) -> torch.Tensor:
    """`torch.tensor(values, dtype=dtype)`, int64 or int32, in a quarter of the time."""
    if not values:
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(array("q" if dtype == torch.int64 else "i", values), dtype=dtype)


@contextmanager
def default_dtype(dtype: torch.dtype) -> Iterator[None]:
    """Make `dtype` the one of new floating-point tensors for a while."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a model. ValueError when there is none; the message names the file."""
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:  # brackets in brackets, a thousand deep
        raise ValueError(f"{path} is not valid JSON, fetch it again: {error}") from error
    if not isinstance(parsed, dict):
        raise ValueError(f"{path} does not hold a JSON object, fetch it again")
    return parsed
