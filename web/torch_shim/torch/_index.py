"""Reading and writing parts of a tensor: `t[...]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arith import store
from ._core import Tensor, wrap
from ._dtype import BOOL, INT64
from ._operands import overflow_error

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
        from ._data import tensor

        return True, index_array(tensor(list(key))) if len(key) else np.empty(0, INT64)
    if kind is str:
        raise TypeError("new(): invalid data type 'str'")
    if hasattr(key, "__index__"):
        return False, key.__index__()
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices"
        f" (got {kind.__name__})"
    )


def split_key(a: np.ndarray, key: tuple[Any, ...]) -> tuple[np.ndarray, tuple[Any, ...] | None]:
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
    view, rest = split_key(a, key)
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


def setitem(self: Tensor, key: Any, value: Any) -> None:
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
        view, rest = split_key(a, key if key.__class__ is tuple else (key,))
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


Tensor.__getitem__, Tensor.__setitem__ = _getitem, setitem  # type: ignore[attr-defined]


def _contains(self: Tensor, value: Any) -> bool:
    return bool((self._a == (value._a if isinstance(value, Tensor) else value)).any())


Tensor.__contains__ = _contains  # type: ignore[attr-defined]


def index_vector(index: Tensor, name: str) -> np.ndarray:
    i = index._a
    if i.dtype.kind != "i" or i.dtype.itemsize < 4:
        raise RuntimeError(f"{name}(): Expected dtype int32 or int64 for index")
    if i.ndim > 1:
        raise IndexError(f"{name}(): Index is supposed to be a vector")
    return i if i.ndim else i.reshape(1)
