"""Elements by a mask or by their value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Tensor, function, method, op, wrap
from ._dtype import BOOL, INT32, INT64


def _mask(mask: Tensor) -> np.ndarray:
    if mask._a.dtype != BOOL:
        raise RuntimeError(f"expected mask dtype to be Bool but got {mask.dtype}")
    return mask._a


@method
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    a, m = self._a, _mask(mask)
    if isinstance(value, Tensor):
        if value._a.ndim:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with"
                f" {value._a.ndim} dimension(s)."
            )
        value = value._a
    elif isinstance(value, float) and a.dtype.kind != "f" and not value.is_integer():
        raise RuntimeError(f"value cannot be converted to type {self.dtype.name}_t without overflow")
    try:
        np.copyto(a, np.asarray(value).astype(a.dtype), where=m)
    except ValueError:
        from ._operands import broadcast_error

        raise broadcast_error(a, m) from None
    return self


@op
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor:
    a = input._a
    shape = np.broadcast_shapes(a.shape, mask._a.shape)
    return masked_fill_(wrap(np.broadcast_to(a, shape).copy()), mask, value)


@op
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    a, m = np.broadcast_arrays(input._a, _mask(mask))
    return wrap(a[m])


@method
def masked_scatter_(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    m = np.broadcast_to(_mask(mask), self._a.shape)
    self._a[m] = source._a.reshape(-1)[: int(m.sum())]
    return self


@op
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    a = input._a
    found = np.nonzero(np.atleast_1d(a))
    if as_tuple:
        return tuple([wrap(i.astype(INT64)) for i in found])
    if a.ndim == 0:
        return wrap(np.empty((len(found[0]), 0), INT64))
    return wrap(np.array(found, INT64).T)


@function
def argwhere(input: Tensor) -> Tensor:
    result: Tensor = nonzero(input)
    return result


@op
def take(input: Tensor, index: Tensor) -> Tensor:
    return wrap(input._a.reshape(-1)[index._a])


@op
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    if dim is None:
        return take(input, wrap(indices._a.reshape(-1)))
    return wrap(np.take_along_axis(input._a, indices._a.astype(np.intp), dim))


@op
def bucketize(input: Tensor, boundaries: Tensor, *, out_int32: bool = False, right: bool = False) -> Tensor:
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@function
def searchsorted(
    sorted_sequence: Tensor,
    input: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
) -> Tensor:
    seq = sorted_sequence._a
    given = input._a if isinstance(input, Tensor) else np.asarray(input, seq.dtype)
    if isinstance(input, Tensor) and given.dtype != seq.dtype:
        raise RuntimeError(
            "torch.searchsorted(): input value tensor and boundary tensor should have same dtype, but got"
            f" boundary tensor dtype {sorted_sequence.dtype} and input value tensor dtype {input.dtype}"
        )
    where = side or ("right" if right else "left")
    d = INT32 if out_int32 else INT64
    if seq.ndim == 1:
        return wrap(np.asarray(seq.searchsorted(given, where)).astype(d))
    if seq.shape[:-1] != given.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of"
            f" boundaries tensor and input value tensor must match, but we got {list(seq.shape)} and"
            f" {list(given.shape)}"
        )
    out = np.empty(given.shape, d)
    rows, wanted, flat = (
        seq.reshape(-1, seq.shape[-1]),
        given.reshape(-1, given.shape[-1]),
        out.reshape(-1, given.shape[-1]),
    )
    for i in range(len(rows)):
        flat[i] = rows[i].searchsorted(wanted[i], where)
    return wrap(out)
