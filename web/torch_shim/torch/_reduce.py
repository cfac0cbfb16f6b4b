"""Many numbers to fewer: sums, spreads, truth, extremes."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ._core import FUNCTIONS, Tensor, checked_dim, op, wrap
from ._dtype import BOOL, FLOAT16, FLOAT32, FLOAT64, INT64, dtype, np_dtype

_new = object.__new__
_ndarray = np.ndarray


def _result(name: str, fields: str) -> Any:
    """As torch.return_types has them: unpacked, indexed, or read by name."""
    kind = namedtuple(name, fields)  # type: ignore[misc]

    def __repr__(self: Any) -> str:
        inner = ",\n".join(f"{field}={value!r}" for field, value in zip(kind._fields, self, strict=True))
        return f"torch.return_types.{name}(\n{inner})"

    kind.__repr__ = __repr__  # type: ignore[method-assign,assignment]
    kind.__module__ = "torch.return_types"
    return kind


Max = _result("max", "values indices")
Min = _result("min", "values indices")
Sort = _result("sort", "values indices")
TopK = _result("topk", "values indices")
Median = _result("median", "values indices")
CumMax = _result("cummax", "values indices")
AMinMax = _result("aminmax", "min max")


def axes(dim: Any, ndim: int) -> Any:
    """numpy's axis for `dim`: one, several, or all."""
    if dim is None or dim == () or dim == []:
        return None
    if dim.__class__ is int:
        if ndim == 0:
            checked_dim(dim, 0)
            return None
        return dim if -ndim <= dim < ndim else checked_dim(dim, ndim)
    if isinstance(dim, tuple | list):
        if ndim == 0:
            return None
        found = tuple([checked_dim(d, ndim) for d in dim])
        if len(set(found)) != len(found):
            raise RuntimeError(f"dim {found[-1]} appears multiple times in the list of dims")
        return found
    return checked_dim(dim, ndim)


def reduced(r: Any) -> Tensor:
    """What a reduction gives lies in one piece in torch, whatever it came from."""
    tensor = _new(Tensor)
    if r.__class__ is not _ndarray:
        tensor._a = np.asarray(r)
    else:
        tensor._a = r if r.flags.c_contiguous else np.ascontiguousarray(r)
    return tensor


@op
def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None
) -> Tensor:
    a = input._a
    d = a.dtype
    to = np_dtype(dtype) if dtype is not None else d if d.kind == "f" else INT64
    if d is FLOAT16 and to is FLOAT16:
        return wrap(np.asarray(np.add.reduce(a, axes(dim, a.ndim), FLOAT32, None, keepdim)).astype(d))
    return reduced(np.add.reduce(a, axes(dim, a.ndim), to, None, keepdim))


@op
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    a = input._a
    return sum(wrap(np.where(np.isnan(a), a.dtype.type(0), a)), dim, keepdim, dtype=dtype)


@op
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    a = input._a
    to = np_dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind == "f" else INT64
    return reduced(np.multiply.reduce(a, axes(dim, a.ndim), to, None, keepdim))


def _needs_float(a: np.ndarray, name: str, to: Any = None) -> None:
    if a.dtype.kind != "f" and to is None:
        title = {"int64": "Long", "int32": "Int", "bool": "Bool"}.get(a.dtype.name, a.dtype.name.capitalize())
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex"
            f" dtype. Got: {title}"
        )


@op
def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: dtype | None = None, out: Any = None
) -> Tensor:
    a = input._a
    _needs_float(a, "mean", dtype)
    if dtype is not None:
        a = a.astype(np_dtype(dtype))
    axis = axes(dim, a.ndim)
    r = sum(wrap(a), dim, keepdim)._a
    count = a.size // r.size if r.size else 0 if axis is None or (r.size == 0 and a.size == 0) else 1
    return wrap(r / a.dtype.type(count))


def _spread(input: Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: bool, name: str) -> np.ndarray:
    a = input._a
    if a.dtype.kind != "f":
        raise RuntimeError(f"{name}: only support floating point and complex dtypes")
    if isinstance(dim, bool):  # var(unbiased)
        dim, unbiased = None, dim
    delta = correction if correction is not None else 1 if unbiased is None else int(unbiased)
    return np.asarray(np.var(a, axes(dim, a.ndim), ddof=delta, keepdims=keepdim, dtype=FLOAT64))


@op
def var(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    return wrap(_spread(input, dim, unbiased, correction, keepdim, "std and var").astype(input._a.dtype))


@op
def std(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None
) -> Tensor:
    spread = _spread(input, dim, unbiased, correction, keepdim, "std and var")
    return wrap(np.sqrt(spread).astype(input._a.dtype))


@op
def norm(input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    a, axis = input._a, axes(dim, input._a.ndim)
    if p in ("fro", 2):
        return wrap(np.sqrt(np.add.reduce(a * a, axis, None, None, keepdim)))
    if p == float("inf"):
        return wrap(np.maximum.reduce(np.abs(a), axis, None, None, keepdim))
    return wrap(np.add.reduce(np.abs(a) ** p, axis, None, None, keepdim) ** a.dtype.type(1 / p))


def _truth(name: str, ufunc: Any) -> None:
    def f(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        a = input._a
        r = ufunc.reduce(a if a.dtype is BOOL else a != 0, axes(dim, a.ndim), None, None, keepdim)
        return reduced(r.astype(np.uint8) if a.dtype == np.uint8 else r)  # which once were masks

    f.__name__ = f.__qualname__ = name
    op(f)


_truth("any", np.logical_or)
_truth("all", np.logical_and)


def _check_not_empty(a: np.ndarray, dim: Any, name: str) -> None:
    if dim is None and a.size == 0:
        raise RuntimeError(
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction"
            " dim with the 'dim' argument."
        )
    if dim is not None and a.ndim and a.shape[checked_dim(dim, a.ndim)] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def _arg(a: np.ndarray, dim: Any, keepdim: bool, largest: bool) -> np.ndarray:
    """Places of extremes as int64: numpy's are as wide as the machine's addresses, 32 bits in the tab."""
    i = a.argmax(dim, keepdims=keepdim) if largest else a.argmin(dim, keepdims=keepdim)
    return np.asarray(i, INT64)


def _extreme_along(a: np.ndarray, dim: Any, keepdim: bool, largest: bool) -> tuple[np.ndarray, np.ndarray]:
    dim = checked_dim(dim, a.ndim)
    if a.ndim == 0:
        return a.copy(), np.zeros((), INT64)
    ufunc = np.maximum if largest else np.minimum
    return np.asarray(ufunc.reduce(a, dim, None, None, keepdim)), _arg(a, dim, keepdim, largest)


def _maximum(name: str, ufunc: Any, result: Any, largest: bool) -> None:
    def f(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        if isinstance(dim, Tensor) or other is not None:
            return FUNCTIONS["maximum" if largest else "minimum"](input, dim if other is None else other)
        a = input._a
        _check_not_empty(a, dim, name)
        if dim is None:
            return wrap(ufunc.reduce(a, None))
        values, indices = _extreme_along(a, dim, keepdim, largest)
        return result(reduced(values), reduced(indices))

    f.__name__ = f.__qualname__ = name
    op(f)

    def arg(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        a = input._a
        if a.dtype is BOOL:
            raise RuntimeError(f"\"arg{name}_cpu\" not implemented for 'Bool'")
        if dim is None and a.size == 0:
            raise IndexError(f"arg{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        _check_not_empty(a, dim, f"arg{name}")
        if dim is None or checked_dim(dim, a.ndim) == a.ndim:
            r = _arg(a.reshape(-1), None, False, largest)
            return wrap(r.reshape((1,) * a.ndim) if keepdim else r)
        return reduced(_arg(a, checked_dim(dim, a.ndim), keepdim, largest))

    arg.__name__ = arg.__qualname__ = f"arg{name}"
    op(arg)

    def among(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        a = input._a
        if a.size == 0 and (dim == () or dim is None):
            raise RuntimeError(f"a{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        try:
            return reduced(ufunc.reduce(a, axes(dim, a.ndim), None, None, keepdim))
        except ValueError:
            raise IndexError(f"a{name}(): Expected reduction dim {dim} to have non-zero size.") from None

    among.__name__ = among.__qualname__ = f"a{name}"
    op(among)


_maximum("max", np.maximum, Max, True)
_maximum("min", np.minimum, Min, False)


@op
def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> Any:
    a, axis = input._a, axes(dim, input._a.ndim)
    _check_not_empty(a, dim, "aminmax")
    low = reduced(np.minimum.reduce(a, axis, None, None, keepdim))
    return AMinMax(low, reduced(np.maximum.reduce(a, axis, None, None, keepdim)))
