"""Tensors from data: lists, numbers, arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._core import Tensor, function, method, op, wrap
from ._create import _new, meta_array
from ._dtype import (
    BOOL,
    BY_NUM,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    Size,
    as_shape,
    default,
    dtype,
    is_meta,
    np_dtype,
)  # fmt: skip


def _array(data: Any, d: np.dtype[Any] | None) -> np.ndarray:
    """Nested lists, numbers, arrays and tensors as an array, with torch's dtype for Python's numbers."""
    if isinstance(data, Tensor):
        return data._a.astype(d or data._a.dtype, copy=True)
    if isinstance(data, np.ndarray | np.generic):
        a = np.array(data, d)
        if a.dtype.num not in BY_NUM:
            raise TypeError(f"can't convert np.ndarray of type {a.dtype.name}")
        return a
    kind = data.__class__
    if kind is list or kind is tuple or isinstance(data, list | tuple | range):
        try:
            a = np.array(_plain(data))
        except ValueError:
            raise ValueError(_ragged(data)) from None
    elif isinstance(data, int | float):
        a = np.asarray(data)
    elif isinstance(data, str):
        raise _not_numbers(data)
    elif isinstance(data, complex):
        raise TypeError("complex numbers are not in the tab")
    elif hasattr(data, "__array__"):
        a = np.array(data)
    elif (
        hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, str | bytes | dict)
    ):
        return _array(list(data), d)
    else:
        raise RuntimeError(f"Could not infer dtype of {kind.__name__}")
    if d is None:
        d = default.np if a.dtype.kind == "f" or a.size == 0 else BOOL if a.dtype.kind == "b" else INT64
    if a.dtype.kind == "O":
        return _big(a, d, data)
    if a.dtype.kind not in "biuf":
        raise _not_numbers(data)
    if d.kind in "iu" and a.dtype.kind in "iu" and a.size:
        limits = np.iinfo(d)
        if a.min() < limits.min or a.max() > limits.max:
            _overflow(d)
    return a.astype(d, copy=False)


def _overflow(d: np.dtype[Any]) -> None:
    if d.itemsize == 8:
        raise ValueError("Overflow when unpacking long long")
    raise RuntimeError(f"value cannot be converted to type {BY_NUM[d.num].name}_t without overflow")


def _big(a: np.ndarray, d: np.dtype[Any], data: Any) -> np.ndarray:
    """numpy makes objects of integers beyond 64 bits, and of what is no number."""
    if not all(isinstance(x, int | float) for x in a.flat):
        raise _not_numbers(data)
    if d.kind == "f":
        return a.astype(d)
    try:
        return a.astype(d)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None


def _not_numbers(data: Any) -> Exception:
    if isinstance(data, list | tuple) and data and isinstance(data[0], str):
        return ValueError("too many dimensions 'str'")
    while isinstance(data, list | tuple) and data:
        data = next((x for x in data if not isinstance(x, int | float)), data[0])
    if isinstance(data, str):
        return TypeError("new(): invalid data type 'str'")
    if data is None:
        return RuntimeError("Could not infer dtype of NoneType")
    return TypeError(f"tensors are made of numbers, not of {type(data).__name__}")


def _plain(data: Any) -> Any:
    """Lists with tensors in them as lists of numbers."""
    for x in data:
        if isinstance(x, Tensor):
            return [x._a.tolist() if isinstance(x, Tensor) else x for x in data]
        if isinstance(x, list | tuple | range):
            return [_plain(x) if isinstance(x, list | tuple | range) else x for x in data]
        break
    return data


def _ragged(data: Any) -> str:
    if isinstance(data, list | tuple):
        lengths = [len(x) if isinstance(x, list | tuple) else None for x in data]
        for i, n in enumerate(lengths):
            if n is None and lengths[0] is not None:
                return f"expected sequence of length {lengths[0]} at dim 1 (got {type(data[i]).__name__})"
            if n != lengths[0] and n is not None:
                return f"expected sequence of length {lengths[0]} at dim 1 (got {n})"
    return "expected nested sequences of equal lengths"


@function
def tensor(
    data: Any, *, dtype: dtype | None = None, device: Any = None, requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    result = _new(Tensor)
    a = _array(data, None if dtype is None else np_dtype(dtype))
    if (device is not None or default.devices) and is_meta(device):
        a = meta_array(a.shape, BY_NUM[a.dtype.num])
    result._a = a
    return result


@method
def new_tensor(self: Tensor, data: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    return tensor(data, dtype=dtype or self.dtype, device=device)


@function
def as_tensor(data: Any, dtype: dtype | None = None, device: Any = None) -> Tensor:
    if isinstance(data, Tensor) and (dtype is None or data.dtype is dtype):
        return data
    if isinstance(data, np.ndarray):
        return from_numpy(data if dtype is None else data.astype(np_dtype(dtype), copy=False))
    return tensor(data, dtype=dtype, device=device)


@function
def asarray(obj: Any, *, dtype: dtype | None = None, device: Any = None, copy: bool | None = None) -> Tensor:
    return tensor(obj, dtype=dtype, device=device) if copy else as_tensor(obj, dtype, device)


@function
def scalar_tensor(s: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    return tensor(s, dtype=dtype or default.dtype)


@function
def from_numpy(ndarray: np.ndarray) -> Tensor:
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    if ndarray.dtype.num not in BY_NUM or not ndarray.dtype.isnative:
        raise TypeError(
            f"can't convert np.ndarray of type {ndarray.dtype}. The only supported types are: float64,"
            " float32, float16, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        )
    if any(step < 0 for step in ndarray.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are"
            " not currently supported. (You can probably work around this by making a copy of your array "
            " with array.copy().)"
        )
    return wrap(ndarray if type(ndarray) is np.ndarray else ndarray.view(np.ndarray))


@function
def frombuffer(
    buffer: Any, *, dtype: dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    result = _new(Tensor)
    try:
        result._a = np.frombuffer(buffer, np_dtype(dtype), count, offset)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    return result


@function
def is_tensor(obj: Any) -> bool:
    return isinstance(obj, Tensor)


@op
def numel(input: Tensor) -> int:
    return input._a.size


@op
def is_nonzero(input: Tensor) -> bool:
    return bool(input)


def legacy_tensor(cls: type[Tensor], data: tuple[Any, ...]) -> Tensor:
    """`torch.Tensor(...)`: of sizes or of data, float32 always. A subclass sees the same memory."""
    result = _new(cls)
    if len(data) == 1 and isinstance(data[0], Tensor):
        result._a = data[0]._a
    elif len(data) == 1 and isinstance(data[0], list | tuple) and not isinstance(data[0], Size):
        result._a = _array(data[0], default.np)
    elif len(data) == 1 and isinstance(data[0], np.ndarray):
        result._a = data[0].astype(default.np, copy=False)
    else:
        result._a = np.empty(as_shape(data) if data else (0,), default.np)
    return result


def _typed(name: str, d: np.dtype[Any]) -> None:
    def f(*data: Any) -> Tensor:
        if len(data) == 1 and not isinstance(data[0], int):
            return wrap(_array(data[0], d))
        return wrap(np.empty(as_shape(data) if data else (0,), d))

    f.__name__ = f.__qualname__ = name
    function(f)


for _name, _d in {
    "FloatTensor": FLOAT32, "DoubleTensor": FLOAT64, "LongTensor": INT64, "IntTensor": INT32,
    "BoolTensor": BOOL,
}.items():  # fmt: skip
    _typed(_name, _d)
