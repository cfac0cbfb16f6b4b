"""Along one dimension: order, top k, running sums, softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arith import store_result
from ._core import Tensor, checked_dim, function, op, wrap
from ._dtype import FLOAT16, FLOAT32, INT64, default, dtype, np_dtype
from ._reduce import CumMax, Median, Sort, TopK, axes, reduced


@op
def median(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    a = input._a
    if dim is None:
        flat = np.sort(a, None)
        return wrap(flat[(a.size - 1) // 2])
    ordered = sort(input, dim)
    middle = (a.shape[dim] - 1) // 2
    values, indices = (np.take(x._a, [middle], dim) for x in ordered)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return Median(wrap(values), wrap(indices))


def _order(a: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Stable order: equal ones stay as they were; NaN counts as the largest."""
    if not descending:
        return a.argsort(dim, kind="stable")
    back = np.flip(a, dim)
    return np.flip(a.shape[dim] - 1 - back.argsort(dim, kind="stable"), dim)


def _laid_out(result: np.ndarray, like: np.ndarray) -> np.ndarray:
    """In memory as the tensor that it comes from."""
    if like.flags.c_contiguous and result.flags.c_contiguous:
        return result
    other = np.empty_like(like, result.dtype)
    other[...] = result
    return other


def _pick(a: np.ndarray, order: np.ndarray, dim: int) -> np.ndarray:
    if a.ndim == 1:
        return a[order]
    if a.ndim == 2 and dim == 1:
        return a[np.arange(len(a))[:, None], order]
    return np.take_along_axis(a, order, dim)


@op
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False, out: Any = None
) -> Any:
    a = input._a
    dim = checked_dim(dim, a.ndim)
    if a.ndim == 0:
        return Sort(wrap(a.copy()), wrap(np.zeros((), INT64)))
    order = _order(a, dim, descending)
    return Sort(wrap(_laid_out(_pick(a, order, dim), a)), wrap(_laid_out(order.astype(INT64), a)))


@op
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    return sort(input, dim, descending)[1]


@function
def msort(input: Tensor) -> Tensor:
    return sort(input, 0)[0]


@op
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    a = input._a
    dim = checked_dim(dim, a.ndim)
    if a.ndim == 0:
        return TopK(wrap(a.copy()), wrap(np.zeros((), INT64)))
    size = a.shape[dim]
    if not 0 <= k <= size:
        raise RuntimeError("selected index k out of range")
    if 4 * k < size and size > 64 and a.dtype.kind != "u" and not (a.dtype.kind == "f" and np.isnan(a).any()):
        # first whoever may be among them: ordering all takes longer
        side = np.argpartition(a, size - k if largest and k else k, dim)
        part = side[_at(dim, slice(size - k, None) if largest else slice(0, k))]
        part = np.sort(part, dim)  # so that equal ones come in the order of their places
        values = np.take_along_axis(a, part, dim)
        order = _order(values, dim, largest)
        order = np.take_along_axis(part, order, dim)
    else:
        order = _order(a, dim, largest)[_at(dim, slice(0, k))]
    return TopK(wrap(_pick(a, order, dim)), wrap(order.astype(INT64)))


def _at(dim: int, part: slice) -> tuple[Any, ...]:
    return (*([slice(None)] * dim), part)


@op
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    values, indices = sort(input, dim)
    at = (*([slice(None)] * checked_dim(dim, input._a.ndim)), slice(k - 1, k) if keepdim else k - 1, ...)
    return Sort(wrap(values._a[at]), wrap(indices._a[at]))


@op
def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, out: Any = None) -> Tensor:
    a = input._a
    to = np_dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind == "f" else INT64
    dim = checked_dim(dim, a.ndim)
    return reduced(a.astype(to) if a.ndim == 0 else np.add.accumulate(a, dim, to))


@op
def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    a = input._a
    to = np_dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind == "f" else INT64
    dim = checked_dim(dim, a.ndim)
    return reduced(a.astype(to) if a.ndim == 0 else np.multiply.accumulate(a, dim, to))


Tensor.cumsum_ = lambda self, dim: store_result(self, cumsum(self, dim)._a)  # type: ignore[attr-defined]


def _cumulative(name: str, ufunc: Any) -> None:
    def f(input: Tensor, dim: int) -> Any:
        a = input._a
        dim = checked_dim(dim, a.ndim)
        values = ufunc.accumulate(a, dim)
        places = np.arange(a.shape[dim]).reshape([-1 if d == dim else 1 for d in range(a.ndim)])
        indices = np.maximum.accumulate(np.where(a == values, places, 0), dim)
        return CumMax(wrap(values), wrap(indices.astype(INT64)))

    f.__name__ = f.__qualname__ = name
    op(f)


_cumulative("cummax", np.maximum)
_cumulative("cummin", np.minimum)


@op
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    return wrap(np.logaddexp.accumulate(input._a, dim))


@op
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    if input._a.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    extra = {k: v._a for k, v in {"prepend": prepend, "append": append}.items() if v is not None}
    return wrap(np.diff(input._a, n, dim, **extra))


@op
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    a = input._a if input._a.dtype.kind == "f" else input._a.astype(default.np)
    axis = axes(dim, a.ndim)
    largest = np.maximum.reduce(a, axis, None, None, True, -np.inf)
    largest = np.where(np.isfinite(largest), largest, a.dtype.type(0))
    r = np.log(np.add.reduce(np.exp(a - largest), axis, None, None, True)) + largest
    r = r if keepdim else r.squeeze(axis)
    return reduced(r)


def softmax_np(a: np.ndarray, dim: int) -> np.ndarray:
    e = a - np.maximum.reduce(a, dim, None, None, True)
    np.exp(e, e)
    e /= np.add.reduce(e, dim, None, None, True)
    return e


def _softmax_input(input: Tensor, to: dtype | None, name: str) -> np.ndarray:
    a = input._a
    if to is not None:
        a = a.astype(np_dtype(to), copy=False)
    if a.dtype.kind != "f" and a.size:
        raise NotImplementedError(f'"{name}_kernel_impl" not implemented for {input.dtype}')
    return a


@op
def softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    dim = checked_dim(dim, input._a.ndim)
    a = _softmax_input(input, dtype, "softmax_lastdim")
    if a.ndim == 0 or a.size == 0:
        return wrap(np.ones_like(a))
    if a.dtype is FLOAT16:
        return wrap(softmax_np(a.astype(FLOAT32), dim).astype(FLOAT16))
    return reduced(softmax_np(a, dim))


@op
def log_softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    checked_dim(dim, input._a.ndim)
    a = _softmax_input(input, dtype, "log_softmax_lastdim")
    if a.size == 0:
        return wrap(a.copy())
    return reduced(a - logsumexp(wrap(a), dim, True)._a)
