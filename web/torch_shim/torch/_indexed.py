"""Rows and elements by an index: selected, gathered, scattered."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Tensor, checked_dim, method, op, wrap
from ._dtype import INT32, INT64
from ._index import index_vector, rows_of, setitem, split_key

_new = object.__new__
ALL = slice(None)


@op
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    a, i = input._a, index._a
    if i.ndim != 1 or (i.dtype is not INT64 and i.dtype is not INT32):
        i = index_vector(index, "index_select")
    if dim:
        dim = checked_dim(dim, a.ndim)
    if a.ndim == 0:
        if i.size != 1 or i.any():
            raise IndexError("index out of range in self")
        return wrap(a.copy())
    if i.size and i.min() < 0:
        if dim:
            raise RuntimeError("INDICES element is out of DATA bounds")
        raise IndexError("index out of range in self")
    try:
        r = rows_of(a, i) if dim == 0 else a.take(i, dim)
    except IndexError:
        if dim:
            raise RuntimeError(f"INDICES element is out of DATA bounds, axis_dim={a.shape[dim]}") from None
        raise IndexError("index out of range in self") from None
    tensor = _new(Tensor)
    tensor._a = r
    return tensor


def _places(a: np.ndarray, dim: int, i: Any) -> tuple[Any, ...]:
    return (*([ALL] * dim), i)


def _checked_places(
    self: Tensor, dim: int, index: Tensor, source: Any, name: str
) -> tuple[int, np.ndarray, Any]:
    a = self._a
    dim = checked_dim(dim, a.ndim)
    i = index._a
    if i.dtype is not INT64 and i.dtype != INT64 and not (i.dtype == INT32 and name == "index_add_"):
        kind = RuntimeError if name == "index_copy_" else IndexError
        raise kind(f"{name}(): Expected a long tensor for index, but got {index.dtype}")
    if i.ndim > 1:
        raise IndexError(f"{name}(): Index should have dimension 1 or 0 (got {i.ndim})")
    if isinstance(source, Tensor):
        s = source._a
        if s.dtype is not a.dtype and s.dtype != a.dtype:
            raise RuntimeError(
                f"{name}(): self and source expected to have the same dtype, but got (self) {self.dtype} and"
                f" (source) {source.dtype}"
            )
        if s.ndim == a.ndim and i.ndim and s.shape[dim] != i.shape[0]:
            raise (IndexError if name == "index_copy_" else RuntimeError)(
                f"{name}(): Number of indices ({i.size}) should be equal to source.size(dim) ({s.shape[dim]})"
            )
        source = s
    return dim, i, source


@method
def index_copy_(self: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    dim, i, s = _checked_places(self, dim, index, source, "index_copy_")
    a = self._a
    if i.size and i.min() < 0:
        raise IndexError("index_copy_(): index out of range")
    if s.ndim == a.ndim and s.shape[:dim] + s.shape[dim + 1 :] != a.shape[:dim] + a.shape[dim + 1 :]:
        raise RuntimeError(
            "index_copy_(): Source/destination tensor must have same slice shapes. Destination slice shape:"
            f" {list(a.shape)} at dimension {dim} and source slice shape: {list(s.shape)} at dimension 0."
        )
    try:
        if dim == 0:
            a[i] = s
        else:
            a[_places(a, dim, i)] = s
    except ValueError as error:
        raise RuntimeError(f"index_copy_(): {error}") from None
    return self


@op
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    return index_copy_(wrap(input._a.copy()), dim, index, source)


@method
def index_fill_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    dim, i, v = _checked_places(self, dim, index, value, "index_fill_")
    self._a[_places(self._a, dim, i)] = v
    return self


@op
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    return index_fill_(wrap(input._a.copy()), dim, index, value)


@method
def index_add_(self: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    dim, i, s = _checked_places(self, dim, index, source, "index_add_")
    if i.size and (i.min() < 0 or i.max() >= self._a.shape[dim]):
        raise RuntimeError(f"index out of bounds for dimension {dim} with size {self._a.shape[dim]}")
    np.add.at(self._a, _places(self._a, dim, i), s if alpha == 1 else s * alpha)
    return self


@op
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    return index_add_(wrap(input._a.copy()), dim, index, source, alpha=alpha)


@method
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    key = tuple(indices)
    if not accumulate:
        setitem(self, key, values)
    else:
        view, rest = split_key(self._a, key)
        np.add.at(view, ... if rest is None else rest, values._a)
    return self


@op
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    return index_put_(wrap(input._a.copy()), indices, values, accumulate)


def _along(a: np.ndarray, dim: int, index: Tensor, name: str) -> tuple[Any, ...]:
    """numpy's index for `gather` and `scatter`, whose index may be smaller than the tensor."""
    i = index._a
    if i.dtype != INT64 and i.dtype != INT32:
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")
    if max(i.ndim, 1) != max(a.ndim, 1):
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    size = a.shape[dim] if a.ndim else 1
    if i.size and (i.min() < 0 or i.max() >= size):
        wrong = i.min() if i.min() < 0 else i.max()
        raise RuntimeError(f"index {wrong} is out of bounds for dimension {dim} with size {size}")
    if a.ndim == 2 and dim == 1:  # what the sampler does
        return np.arange(i.shape[0]).reshape(-1, 1), i
    key: list[Any] = list(np.ogrid[tuple([slice(n) for n in i.shape])])
    if a.ndim:
        key[dim] = i
    return tuple(key)


def _check_within(i: np.ndarray, shape: tuple[int, ...], dim: int, what: str) -> None:
    for d, (n, limit) in enumerate(zip(i.shape, shape, strict=False)):
        if d != dim and n > limit:
            raise RuntimeError(
                f"Size does not match at dimension {d} expected index {list(i.shape)} to be no larger than"
                f" {what} {list(shape)} apart from dimension {dim}"
            )


@op
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False) -> Tensor:
    a = input._a
    dim = checked_dim(dim, a.ndim)
    key = _along(a, dim, index, "gather")
    _check_within(index._a, a.shape, dim, "self")
    if a.ndim == 0:
        return wrap(np.broadcast_to(a, index._a.shape).copy())
    return wrap(a[key])


def _scatter_source(self: Tensor, index: Tensor, src: Any, dim: int) -> Any:
    i = index._a
    if not isinstance(src, Tensor):
        return src
    if src._a.dtype != self._a.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    for n, limit in zip(i.shape, src._a.shape, strict=False):
        if n > limit:
            raise RuntimeError(
                f"Expected index {list(i.shape)} to be no larger than self {list(self._a.shape)} apart from"
                f" dimension {dim} and to be no larger size than src {list(src._a.shape)}"
            )
    return src._a[tuple([slice(n) for n in i.shape])]


_REDUCE = {"add": np.add, "sum": np.add, "multiply": np.multiply, "prod": np.multiply,
           "amax": np.maximum, "amin": np.minimum}  # fmt: skip


@method
def scatter_(
    self: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    a = self._a
    dim = checked_dim(dim, a.ndim)
    key = _along(a, dim, index, "scatter")
    _check_within(index._a, a.shape, dim, "self")
    source = _scatter_source(self, index, value if src is None else src, dim)
    if reduce is None:
        a[key] = source
    else:
        _REDUCE[reduce].at(a, key, source)
    return self


@op
def scatter(
    input: Tensor, dim: int, index: Tensor, src: Any = None, *, value: Any = None, reduce: str | None = None
) -> Tensor:
    return scatter_(wrap(input._a.copy()), dim, index, src, value=value, reduce=reduce)


@method
def scatter_add_(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return scatter_(self, dim, index, src, reduce="add")


@op
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    return scatter_add_(wrap(input._a.copy()), dim, index, src)


@method
def scatter_reduce_(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, *, include_self: bool = True
) -> Tensor:
    if not include_self or reduce == "mean":
        from ._absent import missing

        missing(f"torch.Tensor.scatter_reduce_(reduce={reduce!r}, include_self={include_self})")
    return scatter_(self, dim, index, src, reduce=reduce)
