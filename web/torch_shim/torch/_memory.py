"""Order of elements, diagonals, copies: what needs memory of its own, or says that it does not."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arith import store
from ._core import Tensor, checked_dim, method, op, wrap
from ._dtype import as_shape

_new = object.__new__


@op
def flip(input: Tensor, *dims: Any) -> Tensor:
    if input._a.ndim == 0:
        for d in as_shape(dims):
            checked_dim(d, 0)
        return wrap(input._a.copy())
    return wrap(np.flip(input._a, tuple([checked_dim(d, input._a.ndim) for d in as_shape(dims)])).copy("K"))


@op
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    return wrap(np.roll(input._a, shifts, dims))


def _triangle(name: str, f: Any) -> None:
    def g(input: Tensor, diagonal: int = 0) -> Tensor:
        if input._a.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        r = f(input._a, diagonal)
        return wrap(r if r.flags.c_contiguous else np.ascontiguousarray(r))

    g.__name__ = g.__qualname__ = name
    op(g)
    setattr(Tensor, f"{name}_", lambda self, diagonal=0: copy_(self, g(self, diagonal)))


_triangle("triu", np.triu)
_triangle("tril", np.tril)


@op
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return wrap(input._a.diagonal(offset, dim1, dim2))


@op
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    return wrap(np.diag(input._a, diagonal).copy())


@method
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    windows = np.lib.stride_tricks.sliding_window_view(self._a, size, dimension)
    return wrap(windows[(*([slice(None)] * checked_dim(dimension, self._a.ndim)), slice(None, None, step))])


@op
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    a = input._a
    flat = a if storage_offset is None else a.reshape(-1)[storage_offset:]
    bytes_ = [step * a.itemsize for step in stride]
    return wrap(np.lib.stride_tricks.as_strided(flat, tuple(size), bytes_))


@method
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    store(self._a, src._a if isinstance(src, Tensor) else src)
    return self


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    a = self._a
    if not a.flags.writeable:  # expanded: elements that are one may all be set to the same
        a = a.view()
        a.flags.writeable = True
    store(a, value._a if isinstance(value, Tensor) else value)
    return self


@method
def zero_(self: Tensor) -> Tensor:
    self._a.fill(0)
    return self


@op
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    tensor = _new(Tensor)
    tensor._a = input._a.copy("K")
    return tensor


@method
def resize_(self: Tensor, *sizes: Any) -> Tensor:
    self._a = np.resize(self._a, as_shape(sizes))
    return self


def _itself(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return self


for _name in (
    "cpu",
    "pin_memory",
    "requires_grad_",
    "share_memory_",
    "coalesce",
    "resolve_conj",
    "resolve_neg",
):
    setattr(Tensor, _name, _itself)


@op
def detach(input: Tensor) -> Tensor:
    tensor = _new(Tensor)
    tensor._a = input._a
    return tensor


Tensor.detach_ = _itself  # type: ignore[attr-defined]
Tensor.is_pinned = lambda self: False  # type: ignore[attr-defined]
Tensor.is_shared = lambda self: False  # type: ignore[attr-defined]
