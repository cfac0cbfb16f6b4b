"""Arithmetic and comparisons of two sides, as functions, as operators and in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._core import FUNCTIONS, Tensor, wrap
from ._dtype import BOOL, BY_NUM, FLOAT32, INT64, category, default, result_np
from ._operands import broadcast_error, is_operand, operands, overflow_error, settled

_new = object.__new__
_ndarray = np.ndarray


def _binary_method(ufunc: Any, name: str, *, reverse: bool = False) -> Callable[[Tensor, Any], Any]:
    """An operator. Two tensors of one dtype, and a float with a float32 tensor, go straight through."""

    def slow(a: np.ndarray, other: Any) -> Any:
        if not is_operand(other):
            return NotImplemented
        if ufunc is _subtract:
            _check_no_bool(a, other)
        a, b = operands(a, other, name)
        try:
            return settled(ufunc(b, a) if reverse else ufunc(a, b), a, b)
        except ValueError:
            raise broadcast_error(a, b) from None
        except OverflowError:
            raise overflow_error(a.dtype) from None

    def fast(self: Tensor, other: Any) -> Any:
        a = self._a
        if other.__class__ is Tensor:
            b = other._a
            if a.dtype is not b.dtype:
                return slow(a, other)
        elif other.__class__ is float and a.dtype is FLOAT32:
            b = other
        else:
            return slow(a, other)
        try:
            r = ufunc(a, b)
        except ValueError:
            raise broadcast_error(a, b) from None
        if r.__class__ is not _ndarray or not r.flags.c_contiguous:
            return settled(r, a, b)
        tensor = _new(Tensor)
        tensor._a = r
        return tensor

    def reversed_(self: Tensor, other: Any) -> Any:
        return slow(self._a, other)

    method = reversed_ if reverse else fast
    method.__name__ = method.__qualname__ = name
    return method


def _true_divide(a: Any, b: Any) -> Any:
    d = a.dtype if isinstance(a, np.ndarray) else b.dtype
    if d.kind != "f":
        d = default.np
        return np.true_divide(np.asarray(a, d), np.asarray(b, d))
    return np.true_divide(a, b)


def _check_zero(a: Any, b: Any) -> None:
    d = b.dtype if isinstance(b, np.ndarray) else a.dtype
    if d.kind != "f" and not np.all(b):
        raise RuntimeError("ZeroDivisionError")


def _refuse_bools(a: Any, b: Any, name: str) -> None:
    if (a if isinstance(a, _ndarray) else b).dtype is BOOL:
        raise _not_implemented(a, b, name, "'Bool'")


def _not_implemented(a: Any, b: Any, name: str, what: str) -> Exception:
    """torch looks at shapes before it looks for what computes."""
    try:
        np.broadcast_shapes(np.shape(a), np.shape(b))
    except ValueError:
        return broadcast_error(a, b)
    return NotImplementedError(f'"{name}_cpu" not implemented for {what}')


def _floor_divide(a: Any, b: Any) -> Any:
    _refuse_bools(a, b, "div_floor")
    _check_zero(a, b)
    return np.floor_divide(a, b)


def _remainder(a: Any, b: Any) -> Any:
    _refuse_bools(a, b, "remainder")
    _check_zero(a, b)
    return np.remainder(a, b)


def _power(a: Any, b: Any) -> Any:
    d = a.dtype if isinstance(a, np.ndarray) else b.dtype
    if d.kind == "i" and np.any(np.less(b, 0)):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if d.kind == "b":
        raise RuntimeError("pow: a tensor of bool has no powers")
    return np.power(a, b)


def _check_no_bool(a: np.ndarray, other: Any) -> None:
    """torch subtracts no bools, not from anything."""
    if a.dtype is BOOL or other is True or other is False:
        raise _no_bools()
    if isinstance(other, Tensor) and other._a.dtype is BOOL:
        raise _no_bools()


def _no_bools() -> RuntimeError:
    return RuntimeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a"
        " mask, use the `~` or `logical_not()` operator instead."
    )


def _subtract(a: Any, b: Any) -> Any:
    d = a.dtype if isinstance(a, np.ndarray) else b.dtype
    if d.kind == "b":
        raise _no_bools()
    return np.subtract(a, b)


def _bits(ufunc: Any, name: str) -> Any:
    def compute(a: Any, b: Any) -> Any:
        try:
            return ufunc(a, b)
        except TypeError:
            raise _not_implemented(a, b, name, "floating-point tensors") from None

    return compute


_and, _or = _bits(np.bitwise_and, "bitwise_and"), _bits(np.bitwise_or, "bitwise_or")
_xor = _bits(np.bitwise_xor, "bitwise_xor")
_lshift, _rshift = _bits(np.left_shift, "lshift"), _bits(np.right_shift, "rshift")

# name -> (what computes it, name of the function in torch)
_BINARY: dict[str, tuple[Any, str]] = {
    "add": (np.add, "add"),
    "sub": (_subtract, "sub"),
    "mul": (np.multiply, "mul"),
    "truediv": (_true_divide, "div"),
    "floordiv": (_floor_divide, "floor_divide"),
    "mod": (_remainder, "remainder"),
    "pow": (_power, "pow"),
    "and": (_and, "bitwise_and"),
    "or": (_or, "bitwise_or"),
    "xor": (_xor, "bitwise_xor"),
    "lshift": (_lshift, "bitwise_left_shift"),
    "rshift": (_rshift, "bitwise_right_shift"),
}
_COMPARE: dict[str, tuple[Any, str]] = {
    "eq": (np.equal, "eq"),
    "ne": (np.not_equal, "ne"),
    "lt": (np.less, "lt"),
    "le": (np.less_equal, "le"),
    "gt": (np.greater, "gt"),
    "ge": (np.greater_equal, "ge"),
}


def store(target: np.ndarray, value: Any) -> None:
    """Write into a tensor's memory, broadcasting. RuntimeError where torch has one."""
    try:
        if value.__class__ is _ndarray and value.ndim > target.ndim:
            raise ValueError
        np.copyto(target, value, casting="unsafe")
    except ValueError:
        if not target.flags.writeable:
            raise RuntimeError(
                "unsupported operation: more than one element of the written-to tensor refers to a single"
                " memory location. Please clone() the tensor before performing the operation."
            ) from None
        shape = list(np.shape(value))
        raise RuntimeError(
            f"output with shape {list(target.shape)} doesn't match the broadcast shape {shape}"
        ) from None
    except OverflowError:
        raise overflow_error(target.dtype) from None


def store_result(self: Tensor, r: Any) -> Tensor:
    """The end of an in-place operation: its result must fit the tensor's dtype by category."""
    target, r = self._a, np.asarray(r)
    if category(r.dtype) > category(target.dtype):
        raise RuntimeError(
            f"result type {title(r.dtype)} can't be cast to the desired output type {title(target.dtype)}"
        )
    store(target, r)
    return self


def title(d: np.dtype[Any]) -> str:
    return {"float32": "Float", "float64": "Double", "int64": "Long", "int32": "Int", "bool": "Bool"}.get(
        BY_NUM[d.num].name, BY_NUM[d.num].name.capitalize()
    )


def _in_place(ufunc: Any, name: str, direct: Any = None) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Any:
        a = self._a
        if direct is not None and other.__class__ is Tensor and other._a.dtype is a.dtype is FLOAT32:
            try:
                direct(a, other._a, out=a)
                return self
            except ValueError:
                pass  # the slow way finds the words for it
        if not is_operand(other):
            return NotImplemented
        if ufunc is _subtract:
            _check_no_bool(a, other)
        a, b = operands(a, other, name)
        try:
            r = ufunc(a, b)
        except ValueError:
            raise broadcast_error(a, b) from None
        except OverflowError:
            raise overflow_error(a.dtype) from None
        return store_result(self, r)

    method.__name__ = method.__qualname__ = name
    return method


def _named_binary(dunder: Any, name: str) -> Callable[..., Any]:
    """`torch.add(a, b)` and `a.add(b)`."""

    def f(input: Any, other: Any, *, alpha: Any = None, out: Tensor | None = None, **rest: Any) -> Any:
        if not isinstance(input, Tensor):
            input = wrap(np.asarray(input, FLOAT32 if isinstance(input, float) else INT64))
        if alpha is not None and alpha != 1:
            other = other * alpha
        mode = rest.pop("rounding_mode", None)
        if rest:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(rest))}'")
        r = dunder(input, other)
        if r is NotImplemented:
            kind = type(other).__name__
            raise TypeError(f"{name}(): argument 'other' must be Tensor or Number, not {kind}")
        if mode is not None:
            r = wrap({"floor": np.floor, "trunc": np.trunc}[mode](r._a))
            d = result_np(input._a, other._a) if isinstance(other, Tensor) else input._a.dtype
            r = wrap(r._a.astype(d, copy=False))
        return r if out is None else to_out(out, r)

    f.__name__ = f.__qualname__ = name
    return f


def to_out(out: Tensor, r: Tensor) -> Tensor:
    if out._a.shape != r._a.shape:
        out._a = r._a.astype(out._a.dtype)
    else:
        store_result(out, r._a)
    return out


def _hang() -> None:
    for name, (ufunc, function_name) in (_BINARY | _COMPARE).items():
        # A bool minus a bool or an integer division by zero is looked at; two floats need no look.
        forward = _binary_method(ufunc, f"__{name}__")
        setattr(Tensor, f"__{name}__", forward)
        named = _named_binary(forward, function_name)
        FUNCTIONS[function_name] = named
        setattr(Tensor, function_name, named)
        if name in _COMPARE:
            continue
        setattr(Tensor, f"__r{name}__", _binary_method(ufunc, f"__r{name}__", reverse=True))
        direct = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.true_divide}.get(name)
        in_place = _in_place(ufunc, f"__i{name}__", direct)
        setattr(Tensor, f"__i{name}__", in_place)

        def with_alpha(self: Tensor, other: Any, *, alpha: Any = 1, _f: Any = in_place) -> Tensor:
            r = _f(self, other if alpha == 1 else other * alpha)
            if r is NotImplemented:
                raise TypeError(f"argument 'other' must be Tensor or Number, not {type(other).__name__}")
            return self

        setattr(Tensor, f"{function_name}_", with_alpha)


_hang()
for _alias, _name in {
    "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "greater": "gt",
    "less": "lt", "not_equal": "ne",
}.items():  # fmt: skip
    FUNCTIONS[_alias] = FUNCTIONS[_name]
    setattr(Tensor, _alias, FUNCTIONS[_name])
FUNCTIONS["true_divide"] = FUNCTIONS["div"]
