"""What goes into an operation: both sides in the dtype that torch computes in."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Tensor, wrap
from ._dtype import BY_NUM, result_np, result_np_scalar

_ndarray = np.ndarray
_SCALARS = (int, float, bool)


def broadcast_error(a: Any, b: Any) -> RuntimeError:
    """torch's words for shapes that do not fit together."""
    one, other = np.shape(a), np.shape(b)
    for back in range(1, min(len(one), len(other)) + 1):
        if one[-back] != other[-back] and 1 not in (one[-back], other[-back]):
            at = max(len(one), len(other)) - back
            return RuntimeError(
                f"The size of tensor a ({one[-back]}) must match the size of tensor b ({other[-back]})"
                f" at non-singleton dimension {at}"
            )
    return RuntimeError(f"shapes {list(one)} and {list(other)} do not fit together")


def overflow_error(d: np.dtype[Any]) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {BY_NUM[d.num].name}_t without overflow")


def operands(a: np.ndarray, other: Any, name: str) -> tuple[np.ndarray, Any]:
    """Both sides in the dtype that torch computes in. A Python number may stay one. TypeError for others."""
    if isinstance(other, Tensor):
        b = other._a
        if a.dtype == b.dtype:
            return a, b
        d = result_np(a, b)
        return a.astype(d, copy=False), b.astype(d, copy=False)
    if isinstance(other, np.generic):
        other = other.item()
    if not isinstance(other, _SCALARS):
        raise TypeError(f"{name}(): argument 'other' must be Tensor or Number, not {type(other).__name__}")
    d = result_np_scalar(a.dtype, other)
    if d is not a.dtype:
        a = a.astype(d)
    if d.kind == "u":  # numpy refuses -1 there, torch wraps
        other = np.asarray(int(other) % (1 << (8 * d.itemsize)), d)
    elif d.kind == "b":
        other = np.asarray(other, d)
    return a, other


def is_operand(other: Any) -> bool:
    return isinstance(other, Tensor | int | float | np.generic)


def settled(r: Any, *operands: Any) -> Tensor:
    """A tensor of an elementwise result. Of what was expanded, numpy lays it out in an order of its own."""
    if r.__class__ is _ndarray and not r.flags.c_contiguous:
        for a in operands:
            if a.__class__ is _ndarray and 0 in a.strides:
                return wrap(np.ascontiguousarray(r))
    return wrap(r)
