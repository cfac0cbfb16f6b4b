"""New tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._core import META_MEMORY, Tensor, function, method, op, wrap
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


@method
def new_tensor(self: Tensor, data: Any, *, dtype: dtype | None = None, device: Any = None) -> Tensor:
    return tensor(data, dtype=dtype or self.dtype, device=device)


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


# Changing dtype and device.


@method
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`to(dtype)`, `to(device)`, `to(device, dtype)`, `to(other)`; `copy=True` copies always."""
    if len(args) == 1 and not kwargs and args[0].__class__ is dtype:
        d = args[0].np
        a = self._a
        if a.dtype is d:
            return self
        result = _new(Tensor)
        result._a = a.astype(np_dtype(args[0]), "K")
        return result
    where, d = kwargs.get("device"), kwargs.get("dtype")
    copy = kwargs.get("copy", False)
    for unknown in kwargs.keys() - {"device", "dtype", "copy", "non_blocking", "memory_format", "other"}:
        raise TypeError(f"to() got an unexpected keyword argument '{unknown}'")
    other = kwargs.get("other")
    positional = list(args)
    if positional and positional[0].__class__ is not dtype and not isinstance(positional[0], Tensor):
        where = positional.pop(0)
    if positional and isinstance(positional[0], Tensor):
        other = positional.pop(0)
    if positional and (positional[0] is None or positional[0].__class__ is dtype):
        d = positional.pop(0) or d
    if len(positional) > 1:
        copy = positional[1]
    if other is not None:
        where, d = other.device, other.dtype
    a = self._a
    if where is not None:
        if is_meta(where):
            return wrap(meta_array(a.shape, d or self.dtype))
        if a.base is META_MEMORY:
            raise NotImplementedError("Cannot copy out of meta tensor; no data!")
    if d is None or d.np == a.dtype:
        return wrap(a.copy("K")) if copy else self
    return wrap(a.astype(np_dtype(d)))


@method
def cuda(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    raise RuntimeError("there is no CUDA in the tab: stay on the CPU")


def tensor_type(self: Tensor, dtype: Any = None) -> Any:
    if dtype is None:
        names = {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int", "bool": "Bool",
                 "float16": "Half", "uint8": "Byte", "int8": "Char", "int16": "Short"}  # fmt: skip
        return f"torch.{names.get(self.dtype.name, self.dtype.name)}Tensor"
    return to(self, dtype)


Tensor.type = tensor_type  # type: ignore[attr-defined]


@method
def type_as(self: Tensor, other: Tensor) -> Tensor:
    return to(self, other.dtype)


def _caster(name: str, d: str) -> None:
    from . import _dtype

    target: dtype = getattr(_dtype, d)

    def f(self: Tensor, memory_format: Any = None) -> Tensor:
        a = self._a
        if a.dtype is target.np:
            return self
        result = _new(Tensor)
        result._a = a.astype(np_dtype(target))
        return result

    f.__name__ = f.__qualname__ = name
    method(f)


for _name, _d in {
    "float": "float32", "double": "float64", "half": "float16", "bfloat16": "bfloat16", "long": "int64",
    "int": "int32", "short": "int16", "char": "int8", "byte": "uint8", "bool": "bool_",
}.items():  # fmt: skip
    _caster(_name, _d)


@method
def as_subclass(self: Tensor, cls: Any) -> Tensor:
    result: Tensor = _new(cls)
    result._a = self._a
    return result
