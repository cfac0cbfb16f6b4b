"""Changing dtype and device."""

from __future__ import annotations

from typing import Any

from ._core import META_MEMORY, Tensor, method, wrap
from ._create import _new, meta_array
from ._dtype import (
    dtype,
    is_meta,
    np_dtype,
)  # fmt: skip

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
