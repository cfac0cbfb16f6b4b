"""Functions of one number, bounds, and choices between two."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arith import store_result, title, to_out
from ._core import FUNCTIONS, Tensor, checked_tensor, op, wrap
from ._dtype import BOOL, INT64, default
from ._operands import broadcast_error, operands, settled

_ndarray = np.ndarray


def _unary_float(ufunc: Any, name: str) -> None:
    """A function that turns integers into floating point, as `f`, `Tensor.f` and in place as `Tensor.f_`."""

    def f(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        a = input._a
        if a.dtype.kind != "f":
            a = a.astype(default.np)
        r = settled(ufunc(a), a)
        return r if out is None else to_out(out, r)

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
        return r if out is None else to_out(out, r)

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
        return r if out is None else to_out(out, r)

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
    return wrap(a) if out is None else to_out(out, wrap(a))


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
                f" {title(c.dtype)}"
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
