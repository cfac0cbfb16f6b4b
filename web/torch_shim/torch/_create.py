"""New tensors: filled, counted, like another one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._core import META_MEMORY, Tensor, function, method, wrap
from ._dtype import (
    BOOL,
    BY_NUM,
    FLOAT64,
    INT64,
    as_shape,
    default,
    dtype,
    is_meta,
    np_dtype,
)  # fmt: skip

_new = object.__new__


def _to(d: dtype | None) -> np.dtype[Any]:
    return default.np if d is None else np_dtype(d)


def meta_array(shape: tuple[int, ...], d: dtype | None) -> np.ndarray:
    """An array of that shape and dtype with no memory of its own: every element is the same one."""
    to = _to(d)
    return np.ndarray(shape, to, META_MEMORY, strides=(0,) * len(shape))


def _checked_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    for size in shape:
        if size < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {size}: {list(shape)}")
    return shape


def _maker(name: str, make: Any) -> None:
    def f(
        *size: Any,
        out: Tensor | None = None,
        dtype: dtype | None = None,
        device: Any = None,
        layout: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: Any = None,
        **named: Any,
    ) -> Tensor:
        if "size" in named:
            size = (named.pop("size"),)
        if named:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(named))}'")
        shape = _checked_shape(as_shape(size))
        if (device is not None or default.devices) and is_meta(device):
            return wrap(meta_array(shape, dtype))
        tensor = _new(Tensor)
        tensor._a = _allocate(make, shape, default.np if dtype is None else np_dtype(dtype))
        if out is not None:
            out._a = tensor._a
            return out
        return tensor

    f.__name__ = f.__qualname__ = name
    function(f)

    def like(
        input: Tensor, *, dtype: dtype | None = None, device: Any = None, memory_format: Any = None,
        layout: Any = None, requires_grad: bool = False, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        a = input._a
        if (device is not None and is_meta(device)) or (device is None and a.base is META_MEMORY):
            return wrap(meta_array(a.shape, dtype or BY_NUM[a.dtype.num]))
        to = a.dtype if dtype is None else np_dtype(dtype)
        if a.flags.c_contiguous:
            return wrap(_allocate(make, a.shape, to))
        result = np.empty_like(a, to)  # whose memory is laid out alike
        if make is not np.empty:
            result.fill(0 if make is np.zeros else 1)
        return wrap(result)

    like.__name__ = like.__qualname__ = f"{name}_like"
    function(like)

    def new(self: Tensor, *size: Any, dtype: dtype | None = None, device: Any = None, **rest: Any) -> Tensor:
        size = (rest["size"],) if "size" in rest else size
        if device is not None and is_meta(device):
            return wrap(meta_array(as_shape(size), dtype or self.dtype))
        to = self._a.dtype if dtype is None else np_dtype(dtype)
        return wrap(_allocate(make, _checked_shape(as_shape(size)), to))

    new.__name__ = new.__qualname__ = f"new_{name}"
    method(new)


def _allocate(make: Any, shape: tuple[int, ...], to: np.dtype[Any]) -> np.ndarray:
    try:
        array: np.ndarray = make(shape, to)
    except (MemoryError, ValueError):
        nbytes = math.prod(shape) * to.itemsize
        raise RuntimeError(
            "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate"
            f" {nbytes} bytes."
        ) from None
    return array


for _name, _make in {"empty": np.empty, "zeros": np.zeros, "ones": np.ones}.items():
    _maker(_name, _make)


def _fill_dtype(value: Any, d: dtype | None) -> np.dtype[Any]:
    if d is not None:
        return np_dtype(d)
    if isinstance(value, Tensor):
        return value._a.dtype
    return BOOL if isinstance(value, bool) else INT64 if isinstance(value, int) else default.np


@function
def full(
    size: Any, fill_value: Any, *, out: Tensor | None = None, dtype: dtype | None = None, device: Any = None,
    layout: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    to = _fill_dtype(fill_value, dtype)
    value = fill_value.item() if isinstance(fill_value, Tensor) else fill_value
    shape = _checked_shape(as_shape((size,)))
    if is_meta(device):
        return wrap(meta_array(shape, BY_NUM[to.num]))
    try:
        return wrap(np.full(shape, value, to))
    except OverflowError:
        raise RuntimeError(
            f"value cannot be converted to type {BY_NUM[to.num].name}_t without overflow"
        ) from None


@function
def full_like(input: Tensor, fill_value: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    return full(input._a.shape, fill_value, dtype=dtype or input.dtype, device=device)


@method
def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    return full(size, fill_value, dtype=dtype or self.dtype, device=device)


@function
def arange(
    start: Any = 0, end: Any = None, step: Any = 1, *, out: Tensor | None = None, dtype: dtype | None = None,
    device: Any = None, layout: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    if end is None:
        start, end = 0, start
    values = [v.item() if isinstance(v, Tensor) else v for v in (start, end, step)]
    is_int = all(not isinstance(v, float | np.floating) for v in values)
    to = np_dtype(dtype) if dtype is not None else INT64 if is_int else default.np
    start, end, step = values
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if is_int:
        r = np.arange(start, end, step, INT64 if to.kind == "f" else to)
        r = r.astype(to, copy=False)
    else:
        count = math.ceil((end - start) / step)
        r = (start + step * np.arange(count, dtype=FLOAT64)).astype(to)
    if (device is not None or default.devices) and is_meta(device):
        return wrap(meta_array(r.shape, BY_NUM[to.num]))
    if out is not None:
        if out._a.shape == r.shape:
            out._a[...] = r
        else:
            out._a = r.astype(out._a.dtype)
        return out
    return wrap(r)


@function
def linspace(start: Any, end: Any, steps: int, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    return wrap(np.linspace(float(start), float(end), steps).astype(_to(dtype)))


@function
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    return wrap(np.logspace(float(start), float(end), steps, base=base).astype(_to(dtype)))


@function
def eye(n: int, m: int | None = None, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    return wrap(np.eye(n, m, dtype=_to(dtype)))


@function
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tuple(tensors[0])
    grids = np.meshgrid(*[t._a for t in tensors], indexing=indexing, copy=False)
    return tuple([wrap(a) for a in grids])


@function
def tril_indices(
    row: int, col: int, offset: int = 0, *, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    return wrap(
        np.stack(np.tril_indices(row, offset, col)).astype(INT64 if dtype is None else np_dtype(dtype))
    )


@function
def triu_indices(
    row: int, col: int, offset: int = 0, *, dtype: dtype | None = None, device: Any = None
) -> Tensor:
    return wrap(
        np.stack(np.triu_indices(row, offset, col)).astype(INT64 if dtype is None else np_dtype(dtype))
    )
