"""Elementwise operations: arithmetic, comparisons, functions of one number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ._core import FUNCTIONS, Tensor, checked_tensor, op, wrap
from ._dtype import BOOL, BY_NUM, FLOAT32, INT64, category, default, result_np, result_np_scalar

_new = object.__new__
_ndarray = np.ndarray
_SCALARS = (int, float, bool)
Binary = Callable[[Any, Any], Any]


def broadcast_error(a: Any, b: Any) -> RuntimeError:
    """torch's words for shapes that do not fit together."""
    one, other = np.shape(a), np.shape(b)
    for back in range(1, min(len(one), len(other)) + 1):
        if one[-back] != other[-back] and 1 not in (one[-back], other[-back]):
            at = max(len(one), len(other)) - back
            return RuntimeError(
                f"The size of tensor a ({one[-back]}) must match the size of tensor b ({other[-back]})"
                f" at non-singleton dimension {at}"
            )
    return RuntimeError(f"shapes {list(one)} and {list(other)} do not fit together")


def overflow_error(d: np.dtype[Any]) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {BY_NUM[d.num].name}_t without overflow")


def operands(a: np.ndarray, other: Any, name: str) -> tuple[np.ndarray, Any]:
    """Both sides in the dtype that torch computes in. A Python number may stay one. TypeError for others."""
    if isinstance(other, Tensor):
        b = other._a
        if a.dtype == b.dtype:
            return a, b
        d = result_np(a, b)
        return a.astype(d, copy=False), b.astype(d, copy=False)
    if isinstance(other, np.generic):
        other = other.item()
    if not isinstance(other, _SCALARS):
        raise TypeError(f"{name}(): argument 'other' must be Tensor or Number, not {type(other).__name__}")
    d = result_np_scalar(a.dtype, other)
    if d is not a.dtype:
        a = a.astype(d)
    if d.kind == "u":  # numpy refuses -1 there, torch wraps
        other = np.asarray(int(other) % (1 << (8 * d.itemsize)), d)
    elif d.kind == "b":
        other = np.asarray(other, d)
    return a, other


def _is_operand(other: Any) -> bool:
    return isinstance(other, Tensor | int | float | np.generic)


def settled(r: Any, *operands: Any) -> Tensor:
    """A tensor of an elementwise result. Of what was expanded, numpy lays it out in an order of its own."""
    if r.__class__ is _ndarray and not r.flags.c_contiguous:
        for a in operands:
            if a.__class__ is _ndarray and 0 in a.strides:
                return wrap(np.ascontiguousarray(r))
    return wrap(r)


def _binary_method(ufunc: Any, name: str, *, reverse: bool = False) -> Callable[[Tensor, Any], Any]:
    """An operator. Two tensors of one dtype, and a float with a float32 tensor, go straight through."""

    def slow(a: np.ndarray, other: Any) -> Any:
        if not _is_operand(other):
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
            f"result type {_title(r.dtype)} can't be cast to the desired output type {_title(target.dtype)}"
        )
    store(target, r)
    return self


def _title(d: np.dtype[Any]) -> str:
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
        if not _is_operand(other):
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
        return r if out is None else _to_out(out, r)

    f.__name__ = f.__qualname__ = name
    return f


def _to_out(out: Tensor, r: Tensor) -> Tensor:
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


def _unary_float(ufunc: Any, name: str) -> None:
    """A function that turns integers into floating point, as `f`, `Tensor.f` and in place as `Tensor.f_`."""

    def f(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        a = input._a
        if a.dtype.kind != "f":
            a = a.astype(default.np)
        r = settled(ufunc(a), a)
        return r if out is None else _to_out(out, r)

    f.__name__ = f.__qualname__ = name
    op(f)
    setattr(Tensor, f"{name}_", lambda self: store_result(self, f(self)._a))


def _rsqrt(a: np.ndarray) -> Any:
    return np.reciprocal(np.sqrt(a))


def sigmoid_np(a: np.ndarray) -> Any:
    return np.reciprocal(np.exp(-a) + 1.0)


_erf = np.vectorize(__import__("math").erf, otypes=[np.float64])


def erf_np(a: np.ndarray) -> np.ndarray:
    return _erf(a).astype(a.dtype) if a.size else a.copy()


for _name, _ufunc in {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": _rsqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "sigmoid": sigmoid_np, "erf": erf_np, "reciprocal": np.reciprocal,
}.items():  # fmt: skip
    _unary_float(_ufunc, _name)


_NOT_OF_BOOLS = ("abs", "floor", "ceil", "trunc")


def _relu(a: np.ndarray) -> Any:
    if a.dtype is BOOL:
        raise RuntimeError("Boolean inputs not supported for relu")
    return np.maximum(a, np.zeros((), a.dtype))


def _square(a: np.ndarray) -> Any:
    return np.square(a.astype(INT64) if a.dtype is BOOL else a)


def _sign(a: np.ndarray) -> Any:
    return a.copy("K") if a.dtype is BOOL else np.sign(a)


def _unary_same(ufunc: Any, name: str, *, ints_as_they_are: bool = False) -> None:
    def f(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        a = input._a
        if a.dtype is BOOL and name in _NOT_OF_BOOLS:
            raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
        r = wrap(a.copy("K") if ints_as_they_are and a.dtype.kind != "f" else ufunc(a))
        return r if out is None else _to_out(out, r)

    f.__name__ = f.__qualname__ = name
    op(f)
    setattr(Tensor, f"{name}_", lambda self: store_result(self, f(self)._a))


def _negative(a: np.ndarray) -> Any:
    if a.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a"
            " mask, use the `~` or `logical_not()` operator instead."
        )
    return np.negative(a)


def _invert(a: np.ndarray) -> Any:
    if a.dtype.kind == "f":
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return np.invert(a)


for _name, _ufunc in {
    "neg": _negative, "abs": np.abs, "sign": _sign, "square": _square, "bitwise_not": _invert,
    "relu": _relu,
}.items():  # fmt: skip
    _unary_same(_ufunc, _name)
for _name, _ufunc in {"floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}.items():
    _unary_same(_ufunc, _name, ints_as_they_are=True)
for _alias, _name in {"negative": "neg", "absolute": "abs"}.items():
    FUNCTIONS[_alias] = FUNCTIONS[_name]
    setattr(Tensor, _alias, FUNCTIONS[_name])
Tensor.__neg__, Tensor.__abs__, Tensor.__invert__ = Tensor.neg, Tensor.abs, Tensor.bitwise_not  # type: ignore[attr-defined]
Tensor.__pos__ = lambda self: self  # type: ignore[attr-defined]


@op
def round(input: Tensor, *, decimals: int = 0) -> Tensor:
    a = input._a
    if a.dtype is BOOL:
        raise NotImplementedError("\"round_cpu\" not implemented for 'Bool'")
    return wrap(a.copy("K") if a.dtype.kind != "f" else np.round(a, decimals))


def _logical(ufunc: Any, name: str) -> None:
    def f(input: Tensor, *other: Any) -> Tensor:
        return wrap(ufunc(input._a, *[o._a for o in other]))

    f.__name__ = f.__qualname__ = name
    op(f)


for _name, _ufunc in {
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
    "logical_not": np.logical_not,
}.items():  # fmt: skip
    _logical(_ufunc, _name)


def _test(ufunc: Any, name: str) -> None:
    def f(input: Tensor) -> Tensor:
        return wrap(ufunc(input._a))

    f.__name__ = f.__qualname__ = name
    op(f)


for _name, _ufunc in {"isfinite": np.isfinite, "isnan": np.isnan, "isinf": np.isinf}.items():
    _test(_ufunc, _name)


def _extreme(ufunc: Any, name: str) -> None:
    def f(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
        a, b = operands(input._a, checked_tensor(other, "other", name), name)
        try:
            r = wrap(ufunc(a, b))
        except ValueError:
            raise broadcast_error(a, b) from None
        return r if out is None else _to_out(out, r)

    f.__name__ = f.__qualname__ = name
    op(f)


for _name, _ufunc in {
    "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "atan2": np.arctan2,
}.items():  # fmt: skip
    _extreme(_ufunc, _name)


def _bound(a: np.ndarray, limit: Any) -> tuple[np.ndarray, Any]:
    return operands(a, limit, "clamp")


@op
def clamp(input: Tensor, min: Any = None, max: Any = None, *, out: Tensor | None = None) -> Tensor:
    a = input._a
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if min is not None:
        a, low = _bound(a, min)
        a = np.maximum(a, low)
    if max is not None:
        a, high = _bound(a, max)
        a = np.minimum(a, high)
    return wrap(a) if out is None else _to_out(out, wrap(a))


@op
def clamp_min(input: Tensor, min: Any) -> Tensor:
    return clamp(input, min=min)


@op
def clamp_max(input: Tensor, max: Any) -> Tensor:
    return clamp(input, max=max)


FUNCTIONS["clip"] = clamp
Tensor.clip = clamp  # type: ignore[attr-defined]
Tensor.clamp_ = lambda self, min=None, max=None: store_result(self, clamp(self, min, max)._a)  # type: ignore[attr-defined]
Tensor.clamp_min_ = lambda self, min: store_result(self, clamp(self, min=min)._a)  # type: ignore[attr-defined]
Tensor.clamp_max_ = lambda self, max: store_result(self, clamp(self, max=max)._a)  # type: ignore[attr-defined]


@op
def nan_to_num(input: Tensor, nan: float = 0.0, posinf: Any = None, neginf: Any = None) -> Tensor:
    return wrap(np.nan_to_num(input._a, nan=nan, posinf=posinf, neginf=neginf))


@op
def lerp(input: Tensor, end: Tensor, weight: Any) -> Tensor:
    return input + (end - input) * weight


@op
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Any = 1) -> Tensor:
    return input + tensor1 * tensor2 * value


@op
def where(condition: Tensor, input: Any = None, other: Any = None) -> Any:
    if input is None and other is None:
        return condition.nonzero(as_tuple=True)  # type: ignore[attr-defined]
    c = condition._a
    if c.dtype is not BOOL:
        if c.dtype.kind != "u":
            raise RuntimeError(
                "where expected condition to be a boolean tensor, but got a tensor with dtype"
                f" {_title(c.dtype)}"
            )
        c = c.astype(BOOL)
    if isinstance(input, Tensor):
        a, b = operands(input._a, other, "where")
    elif isinstance(other, Tensor):
        b, a = operands(other._a, input, "where")
    else:
        d = (
            BOOL
            if type(input) is type(other) is bool
            else default.np
            if float in map(type, (input, other))
            else INT64
        )
        a, b = np.asarray(input, d), np.asarray(other, d)
    d = a.dtype if isinstance(a, _ndarray) else b.dtype
    try:
        r = np.where(c, a, b)
    except ValueError:
        raise broadcast_error(np.empty(np.broadcast_shapes(np.shape(a), ())), c) from None
    return wrap(r if r.dtype is d else r.astype(d))


def _where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    return where(condition, self, other)


Tensor.where = _where_method  # type: ignore[attr-defined]
