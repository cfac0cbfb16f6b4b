"""Run a piece of code on real torch and on the shim, and compare all that can be seen of the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import torch

INTS = ("int64", "int32", "uint8")
FLOATS = ("float32", "float64")
DTYPES = ("float32", "int64", "bool", "int32", "float64", "uint8")


class Case:
    """A tensor to begin with: its values, dtype and layout as plain data."""

    def __init__(self, array: np.ndarray, layout: str = "plain") -> None:
        self.array, self.layout = np.asarray(array), layout

    def make(self, world: ModuleType) -> Any:
        """The tensor in one of the worlds."""
        base = world.from_numpy(self.array.copy())
        if self.layout == "transposed" and base.dim() >= 2:
            return base.transpose(0, 1)
        if self.layout == "every second" and base.dim() >= 1:
            return base[::2]
        if self.layout == "tail" and base.dim() >= 1:
            return base[1:]
        return base

    def __repr__(self) -> str:
        return f"Case({self.array!r}, {self.layout!r})"


def outcome(
    world: ModuleType, code: Callable[..., Any], cases: Sequence[Case]
) -> tuple[Any, list[Any], list[Any]]:
    """What the code returns or raises, and what it has made of its arguments."""
    tensors = [case.make(world) for case in cases]
    try:
        result = code(world, *tensors)
    except Exception as error:
        result = error
    shared = sharing(result, tensors)
    if any(case.layout != "plain" for case in cases) and not any(any(row) for row in shared):
        result = _laid_out(world, result)
    return described(world, result), [described(world, t) for t in tensors], shared


def _laid_out(world: ModuleType, result: Any) -> Any:
    """How torch lays out new memory when what it comes from was not in one piece is its own affair."""
    if isinstance(result, world.Tensor):
        return result.contiguous()
    if isinstance(result, list | tuple) and not isinstance(result, world.Size):
        return [_laid_out(world, part) for part in result]
    return result


def sharing(result: Any, tensors: Sequence[Any]) -> list[Any]:
    """Which of the arguments each tensor of the result shares memory with."""
    parts = result if isinstance(result, tuple | list) else [result]
    return [
        [_overlap(part, tensor) for tensor in tensors]
        for part in parts
        if hasattr(part, "data_ptr") and part.numel()
    ]


def _overlap(one: Any, other: Any) -> bool:
    return bool(np.may_share_memory(one.numpy(), other.numpy()))


def described(world: ModuleType, value: Any) -> Any:
    """A value as plain data that two worlds can agree about."""
    if isinstance(value, world.Tensor):
        strides = tuple(
            0 if size == 1 else step for size, step in zip(value.shape, value.stride(), strict=True)
        )
        return (
            "tensor", str(value.dtype), tuple(value.shape), strides if value.numel() else None,
            value.is_contiguous(), np.array(value.numpy()),
        )  # fmt: skip
    if isinstance(value, world.dtype | world.Size | world.device):
        return repr(value)
    if isinstance(value, BaseException):
        names = {kind.__name__ for kind in type(value).__mro__}
        return "raised", next(n for n in ("IndexError", "TypeError", "ValueError", "NotImplementedError",
                                          "RuntimeError", "Exception") if n in names)  # fmt: skip
    if isinstance(value, tuple | list):
        return [described(world, part) for part in value]
    return value


def assert_same(one: Any, other: Any, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    """AssertionError unless two descriptions agree: floats to rounding, all else exactly."""
    if isinstance(one, tuple) and one and one[0] == "tensor" and isinstance(other, tuple):
        assert one[:5] == other[:5], f"{one} is not {other}"
        a, b = one[5], other[5]
        if a.dtype.kind == "f":
            np.testing.assert_allclose(b, a, rtol=rtol, atol=atol)
        else:
            np.testing.assert_array_equal(b, a)
    elif isinstance(one, list) and isinstance(other, list):
        assert len(one) == len(other), f"{one} is not {other}"
        for a, b in zip(one, other, strict=True):
            assert_same(a, b, rtol, atol)
    elif isinstance(one, float) and isinstance(other, float):
        assert one == other or abs(one - other) <= atol + rtol * abs(one) or (one != one and other != other)
    else:
        assert type(one) is type(other) and one == other, f"{one!r} is not {other!r}"


def compare(shim: ModuleType, code: Callable[..., Any], cases: Sequence[Case], **tolerance: float) -> None:
    """Both worlds do the same to the same tensors."""
    theirs, ours = outcome(torch, code, cases), outcome(shim, code, cases)
    assert_same(theirs[0], ours[0], **tolerance)
    if isinstance(theirs[0], tuple) and theirs[0][0] == "raised":
        return  # how far torch came before it raised is not promised
    assert_same(theirs[1], ours[1], **tolerance)
    assert theirs[2] == ours[2], "results share memory with other tensors"
