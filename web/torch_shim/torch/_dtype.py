"""dtypes, devices and sizes, and which dtype an operation of two has."""

from __future__ import annotations

import math
from collections.abc import Iterable
from types import TracebackType
from typing import Any

import numpy as np

from ._absent import missing


class dtype:
    """A type of a tensor's elements. One object each, compared by identity.

    `np` is numpy's, None where numpy has none: those types can be named, but not held in the tab.
    """

    __slots__ = ("_category", "is_complex", "is_floating_point", "is_signed", "itemsize", "name", "np")

    def __init__(
        self, name: str, np_dtype: Any, itemsize: int, category: int, is_signed: bool = True
    ) -> None:
        self.name = name
        self.np = None if np_dtype is None else np.dtype(np_dtype)
        self.itemsize = itemsize
        self._category = category  # 0 bool, 1 integer, 2 floating point, 3 complex
        self.is_floating_point = category == 2
        self.is_complex = category == 3
        self.is_signed = is_signed

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _named, (self.name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: Any) -> dtype:
        return self

    def to_complex(self) -> dtype:
        return missing("torch.dtype.to_complex")


bool_ = dtype("bool", np.bool_, 1, 0, is_signed=False)
uint8 = dtype("uint8", np.uint8, 1, 1, is_signed=False)
int8 = dtype("int8", np.int8, 1, 1)
int16 = dtype("int16", np.int16, 2, 1)
int32 = dtype("int32", np.int32, 4, 1)
int64 = dtype("int64", np.int64, 8, 1)
uint16 = dtype("uint16", np.uint16, 2, 1, is_signed=False)
uint32 = dtype("uint32", np.uint32, 4, 1, is_signed=False)
uint64 = dtype("uint64", np.uint64, 8, 1, is_signed=False)
float16 = dtype("float16", np.float16, 2, 2)
float32 = dtype("float32", np.float32, 4, 2)
float64 = dtype("float64", np.float64, 8, 2)
bfloat16 = dtype("bfloat16", None, 2, 2)
float8_e4m3fn = dtype("float8_e4m3fn", None, 1, 2)
float8_e5m2 = dtype("float8_e5m2", None, 1, 2)
complex64 = dtype("complex64", None, 8, 3)
complex128 = dtype("complex128", None, 16, 3)

ALL = (
    bool_, uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, float32, float64,
    bfloat16, float8_e4m3fn, float8_e5m2, complex64, complex128,
)  # fmt: skip
_BY_NAME = {d.name: d for d in ALL}
# By numpy's number of a type: faster than by type, and C's int and long may be two types of one size.
BY_NUM: dict[int, dtype] = {}
for _code in "?bBhHiIlLqQefd":
    _np = np.dtype(_code)
    BY_NUM[_np.num] = next(d for d in ALL if d.np == _np)

BOOL, INT32, INT64 = np.dtype(np.bool_), np.dtype(np.int32), np.dtype(np.int64)
FLOAT16, FLOAT32, FLOAT64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)


def _named(name: str) -> dtype:
    return _BY_NAME[name]


class _Default:
    """The dtype of new floating-point tensors, and the device that `with torch.device(...)` has set."""

    def __init__(self) -> None:
        self.dtype = float32
        self.np = FLOAT32
        self.devices: list[device] = []


default = _Default()


def get_default_dtype() -> dtype:
    return default.dtype


def set_default_dtype(d: dtype) -> None:
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: only floating-point types are supported, not {d!r}")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {d!r}")
    default.dtype, default.np = d, np_dtype(d)


def np_dtype(d: dtype) -> np.dtype[Any]:
    """numpy's type for one of ours. TypeError for what is no dtype; what numpy lacks is not in the tab."""
    if d.__class__ is not dtype:
        raise TypeError(f"dtype must be a torch.dtype, not {type(d).__name__}")
    if d.np is None:
        missing(repr(d))
    return d.np


def category(d: np.dtype[Any]) -> int:
    kind = d.kind
    return 2 if kind == "f" else 0 if kind == "b" else 1


def promote_np(a: np.dtype[Any], b: np.dtype[Any]) -> np.dtype[Any]:
    """torch's: floating point of any width wins over integers of any width."""
    ca, cb = category(a), category(b)
    if ca == cb:
        return np.promote_types(a, b)
    return a if ca > cb else b


def promote_types(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    return BY_NUM[promote_np(np_dtype(a), np_dtype(b)).num]


def result_np(a: np.ndarray, b: np.ndarray) -> np.dtype[Any]:
    """Of two tensors: one without dimensions does not widen one with some, within a category."""
    da, db = a.dtype, b.dtype
    ca, cb = category(da), category(db)
    if ca == cb and (a.ndim == 0) != (b.ndim == 0):
        return da if a.ndim else db
    return promote_np(da, db)


_OF_SCALAR = {bool: 0, int: 1, float: 2}


def result_np_scalar(a: np.dtype[Any], scalar: Any) -> np.dtype[Any]:
    """Of a tensor and a Python number, which never widens within a category."""
    kind = _OF_SCALAR.get(scalar.__class__, 2 if isinstance(scalar, float) else 1)
    if kind <= category(a):
        return a
    return default.np if kind == 2 else INT64


class device:
    """Where a tensor is: `cpu`, or `meta`, where it has a shape and no memory. CUDA can be named only."""

    __slots__ = ("index", "type")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            self.type, self.index = type.type, type.index
            return
        if isinstance(type, int) and not isinstance(type, bool):
            raise RuntimeError("Cannot access accelerator device when none is available.")
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {_kind(type)}")
        kind, colon, number = type.partition(":")
        if kind not in ("cpu", "cuda", "meta", "mps", "xpu") or (colon and not number.isdigit()):
            raise RuntimeError(f"Invalid device string: '{type}'")
        self.type = kind
        self.index = int(number) if colon else index

    def __repr__(self) -> str:
        tail = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{tail})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (self.type, self.index)

    def __enter__(self) -> device:
        default.devices.append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        default.devices.pop()


CPU, META = device("cpu"), device("meta")


def is_meta(where: Any) -> bool:
    """Whether a `device=` argument means the meta device. RuntimeError for one that is not in the tab."""
    if where is None:
        if not default.devices:
            return False
        where = default.devices[-1]
    kind = where.type if where.__class__ is device else device(where).type
    if kind == "cpu":
        return False
    if kind == "meta":
        return True
    raise RuntimeError(f"there is no device {kind!r} in the tab: use 'cpu'")


class Size(tuple):
    """A shape."""

    __slots__ = ()

    def numel(self) -> int:
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, key: Any) -> Any:
        got = tuple.__getitem__(self, key)
        return Size(got) if key.__class__ is slice else got

    def __add__(self, other: Any) -> Any:
        return Size(tuple.__add__(self, tuple(other)))

    def __mul__(self, times: Any) -> Any:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__


def as_shape(given: Iterable[Any]) -> tuple[int, ...]:
    """A shape from `f(2, 3)` or `f((2, 3))`, whose arguments are in a tuple."""
    sizes = tuple(given)
    if len(sizes) == 1 and not isinstance(sizes[0], int) and hasattr(sizes[0], "__iter__"):
        first = sizes[0]
        if getattr(first, "_a", None) is None or first._a.ndim:
            sizes = tuple(first)
    return tuple([size if size.__class__ is int else as_int(size) for size in sizes])


def as_int(value: Any) -> int:
    """An int from what may stand for one. TypeError for floats, as torch has it."""
    try:
        return int(value.__index__())
    except AttributeError:
        raise TypeError(f"expected an int, not {_kind(value)}") from None


def _kind(value: object) -> str:
    return type(value).__name__


class finfo:
    """Limits of a floating-point type."""

    def __init__(self, d: dtype | None = None) -> None:
        d = default.dtype if d is None else d
        if not d.is_floating_point:
            raise TypeError(
                f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle '{d}'"
            )
        if d is bfloat16:
            self.eps, self.max, self.tiny = 2.0**-7, 3.3895313892515355e38, 2.0**-126
        else:
            info = np.finfo(np_dtype(d))
            self.eps, self.max, self.tiny = float(info.eps), float(info.max), float(info.tiny)
        self.min, self.smallest_normal, self.bits = -self.max, self.tiny, 8 * d.itemsize
        self.resolution = {16: 1e-3, 32: 1e-6, 64: 1e-15}[self.bits] if d is not bfloat16 else 1e-2
        self.dtype = d.name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g},"
            f" smallest_normal={self.tiny:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer type."""

    def __init__(self, d: dtype) -> None:
        if d._category != 1:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle '{d}'")
        info = np.iinfo(np_dtype(d))
        self.min, self.max, self.bits, self.dtype = int(info.min), int(info.max), 8 * d.itemsize, d.name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
