"""Compare what a submission emitted with what the reference emitted. Both are decoded, plain values."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from judge.i18n import both
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Text

RTOL = 1e-5
ATOL = 1e-6


def same(expected: Any, got: Any) -> bool:
    """Equal with exact types, dtypes and shapes; floats within rtol 1e-5, atol 1e-6. NaN equals nothing."""
    if type(expected) is int:
        return type(got) is int and got == expected
    return difference(expected, got) is None


def difference(expected: Any, got: Any) -> Text | None:
    """What differs, in both languages and without naming a value, or None when the two are the same."""
    if _is_outcome(expected) and _is_outcome(got) and expected.keys() != got.keys():
        if "error" in expected:
            return both("verdict.diff_no_error", error=expected["error"])
        return both("verdict.diff_error", error=error_name(got["error"]))
    if type(expected) is not type(got):
        return both("verdict.diff_type", expected=type(expected).__name__, got=type(got).__name__)
    if isinstance(expected, TensorData):
        return _tensor_difference(expected, got)
    if isinstance(expected, list):
        if len(expected) != len(got):
            return both("verdict.diff_length", expected=len(expected), got=len(got))
        return _first_difference(expected, got)
    if isinstance(expected, dict):
        if expected.keys() != got.keys():
            return both("verdict.diff_keys")
        if "error" in expected and _is_outcome(expected) and expected != got:
            seen = error_name(got["error"])
            return both("verdict.diff_other_error", expected=expected["error"], got=seen)
        return _first_difference(list(expected.values()), [got[key] for key in expected])
    if isinstance(expected, float):
        return None if close(expected, got) else both("verdict.diff_value")
    return None if expected == got else both("verdict.diff_value")


def close(expected: float, got: float) -> bool:
    """Floats within tolerance; infinities of one sign are equal, NaN never is."""
    if math.isinf(expected):
        return expected == got
    return abs(got - expected) <= ATOL + RTOL * abs(expected)


def check_same(expected: Sequence[Any], got: Sequence[Any], rule: int) -> Broken | None:
    """The checker of exercises whose every emitted value must equal the reference's."""
    text = difference(list(expected), list(got))
    return None if text is None else Broken(rule, text)


def error_name(name: object) -> str:
    """The class of an exception as a message may name it: one of Python's own, or else just "Exception".

    A class of the learner's own is not named: it could spell out a hidden input.
    """
    known = getattr(builtins, name, None) if isinstance(name, str) else None
    return known.__name__ if isinstance(known, type) and issubclass(known, BaseException) else "Exception"


def _is_outcome(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and value.keys() <= {"value", "error"}


def _first_difference(expected: Sequence[Any], got: Sequence[Any]) -> Text | None:
    return next((d for pair in zip(expected, got, strict=True) if (d := difference(*pair))), None)


def _tensor_difference(expected: TensorData, got: TensorData) -> Text | None:
    if expected.dtype != got.dtype:
        return both("verdict.diff_type", expected=expected.dtype, got=got.dtype)
    if expected.shape != got.shape:
        return both("verdict.diff_shape", expected=expected.shape, got=got.shape)
    if "float" in expected.dtype:
        import torch

        one, other = expected.torch().double(), got.torch().double()
        equal = bool(torch.isclose(other, one, rtol=RTOL, atol=ATOL).all())
    else:
        equal = expected.raw == got.raw
    return None if equal else both("verdict.diff_value")
