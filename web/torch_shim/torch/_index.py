"""Reading and writing parts of a tensor: `t[...]`, gather and scatter, masks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arith import overflow_error, store
from ._core import Tensor, checked_dim, function, method, op, wrap
from ._dtype import BOOL, INT32, INT64

_new = object.__new__
_ndarray = np.ndarray
ALL = slice(None)


def rows_of(a: np.ndarray, i: np.ndarray) -> np.ndarray:
    """The entries `i` of the first dimension. `take` is faster, but copies all of what is in pieces."""
    return a.take(i, 0) if a.flags.c_contiguous else a[i]


def _checked_slice(key: slice) -> slice:
    step = key.step
    if step is not None and step.__index__() <= 0:
        raise ValueError("step must be greater than zero")
    return key


def index_array(t: Tensor) -> np.ndarray:
    """A tensor as an index. IndexError for floats; a uint8 one is a mask, as of old."""
    a = t._a
    kind = a.dtype.kind
    if kind == "i" or kind == "b":
        return a
    if a.dtype == np.uint8:
        return a.astype(BOOL)
    raise IndexError("tensors used as indices must be long, int, byte or bool tensors")


def _one(key: Any) -> tuple[bool, Any]:
    """One entry of an index: whether it picks by a list, and what numpy takes for it."""
    kind = key.__class__
    if kind is slice:
        return False, _checked_slice(key)
    if kind is int or key is None or key is Ellipsis:
        return False, key
    if isinstance(key, Tensor):
        a = index_array(key)
        if a.ndim == 0 and a.dtype.kind == "i":
            return False, int(a)
        return True, a
    if kind is bool or kind is np.bool_:
        return True, np.asarray(bool(key))
    if isinstance(key, _ndarray):
        return True, index_array(wrap(key))
    if isinstance(key, list | tuple | range):
        from ._create import tensor

        return True, index_array(tensor(list(key))) if len(key) else np.empty(0, INT64)
    if kind is str:
        raise TypeError("new(): invalid data type 'str'")
    if hasattr(key, "__index__"):
        return False, key.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
        f" (got {kind.__name__})"
    )


def _split_key(a: np.ndarray, key: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...] | None]:
    """torch takes numbers, slices and None first, and lists from what they leave.

    Returns:
        The view of the first, and numpy's index for the rest; None when there is no rest.
    """
    parts = [_one(entry) for entry in key]
    if not any(by_list for by_list, _ in parts):
        basic = tuple([entry for _, entry in parts])
        # With an ellipsis the result is a view even where each dimension has a number.
        return a[basic if Ellipsis in basic else (*basic, Ellipsis)], None
    taken = sum((entry.ndim if entry.dtype.kind == "b" else 1) if by_list else entry not in (None, Ellipsis)
                for by_list, entry in parts if by_list or not isinstance(entry, slice)) + sum(
        not by_list and isinstance(entry, slice) for by_list, entry in parts)  # fmt: skip
    if taken > a.ndim:
        raise IndexError(f"too many indices for tensor of dimension {a.ndim}")
    first: list[Any] = []
    rest: list[Any] = []
    for by_list, entry in parts:
        if by_list:
            used = entry.ndim if entry.dtype.kind == "b" else 1
            first.extend([ALL] * used)
            rest.append(entry)
        elif entry is Ellipsis:
            first.append(Ellipsis)
            rest.extend([ALL] * (a.ndim - taken))
        else:
            first.append(entry)
            if entry.__class__ is not int:
                rest.append(ALL)
    if Ellipsis not in first:
        first.append(Ellipsis)  # so that numpy gives a view, and no number, of what has no dimensions left
    return a[tuple(first)], tuple(rest)


def _picked(a: np.ndarray, key: tuple[Any, ...]) -> np.ndarray:
    view, rest = _split_key(a, key)
    if rest is None:
        return view
    r = view[rest]
    return r if r.flags.c_contiguous else np.ascontiguousarray(r)


def _getitem(self: Tensor, key: Any) -> Tensor:
    a = self._a
    kind = key.__class__
    try:
        if kind is int:
            if a.ndim == 0:
                raise IndexError(
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or"
                    " `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
                )
            r = a[key, ...]
        elif kind is slice:
            if key.step is not None:
                _checked_slice(key)
            if a.ndim == 0:
                raise IndexError("slice() cannot be applied to a 0-dim tensor.")
            r = a[key]
        elif kind is Tensor:
            i = key._a
            if i.dtype.kind == "i" and i.ndim:
                if a.ndim == 0:
                    raise IndexError("too many indices for tensor of dimension 0")
                r = rows_of(a, i)
            else:
                r = _picked(a, (key,))
        elif kind is tuple:
            r = _picked(a, key)
        else:
            r = _picked(a, (key,))
    except ValueError as error:
        if "step must be" in str(error):
            raise
        raise IndexError(str(error)) from None
    tensor = _new(Tensor)
    tensor._a = r if r.__class__ is _ndarray else np.asarray(r)
    return tensor


def _setitem(self: Tensor, key: Any, value: Any) -> None:
    a = self._a
    if isinstance(value, Tensor):
        value = value._a
    elif value.__class__ not in (int, float, bool) and not isinstance(value, np.generic | int | float):
        raise TypeError(f"can't assign a {type(value).__name__} to a {self.dtype} tensor")
    elif value.__class__ is int and a.dtype.kind == "u" and -(2 ** (8 * a.itemsize)) < value < 0:
        value += 2 ** (8 * a.itemsize)  # numpy refuses it, torch wraps
    if key.__class__ is slice and key.step is None and a.ndim:
        view, rest = a[key], None
    else:
        view, rest = _split_key(a, key if key.__class__ is tuple else (key,))
    if value.__class__ is _ndarray:
        while value.ndim > view.ndim and rest is None and value.shape[0] == 1:
            value = value[0]
    try:
        if rest is None:
            if value.__class__ is _ndarray and value.ndim > view.ndim:
                raise ValueError
            view[...] = value
        else:
            view[rest] = value
    except ValueError:
        if not view.flags.writeable:
            store(view, value)
        got, wanted = list(np.shape(value)), list(view[rest].shape if rest else view.shape)
        if rest is None:
            message = f"The expanded size of the tensor {wanted} must match the existing size {got}"
        else:
            message = (
                f"shape mismatch: value tensor of shape {got} cannot be broadcast to indexing result of"
                f" shape {wanted}"
            )
        raise RuntimeError(message) from None
    except OverflowError:
        raise overflow_error(a.dtype) from None


Tensor.__getitem__, Tensor.__setitem__ = _getitem, _setitem  # type: ignore[attr-defined]


def _contains(self: Tensor, value: Any) -> bool:
    return bool((self._a == (value._a if isinstance(value, Tensor) else value)).any())


Tensor.__contains__ = _contains  # type: ignore[attr-defined]


def _index_vector(index: Tensor, name: str) -> np.ndarray:
    i = index._a
    if i.dtype.kind != "i" or i.dtype.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")
    if i.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    return i if i.ndim else i.reshape(1)


@op
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    a, i = input._a, index._a
    if i.ndim != 1 or (i.dtype is not INT64 and i.dtype is not INT32):
        i = _index_vector(index, "index_select")
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
        _setitem(self, key, values)
    else:
        view, rest = _split_key(self._a, key)
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
        from ._arith import broadcast_error

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
