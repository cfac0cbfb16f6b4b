"""Many numbers to fewer: sums, extremes, order."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ._arith import store_result
from ._core import FUNCTIONS, Tensor, checked_dim, function, op, wrap
from ._dtype import BOOL, FLOAT16, FLOAT32, FLOAT64, INT64, default, dtype, np_dtype

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


@op
def median(input: Tensor, dim: Any = None, keepdim: bool = False) -> Any:
    a = input._a
    if dim is None:
        flat = np.sort(a, None)
        return wrap(flat[(a.size - 1) // 2])
    ordered = sort(input, dim)
    middle = (a.shape[dim] - 1) // 2
    values, indices = (np.take(x._a, [middle], dim) for x in ordered)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return Median(wrap(values), wrap(indices))


def _order(a: np.ndarray, dim: int, descending: bool) -> np.ndarray:
    """Stable order: equal ones stay as they were; NaN counts as the largest."""
    if not descending:
        return a.argsort(dim, kind="stable")
    back = np.flip(a, dim)
    return np.flip(a.shape[dim] - 1 - back.argsort(dim, kind="stable"), dim)


def _laid_out(result: np.ndarray, like: np.ndarray) -> np.ndarray:
    """In memory as the tensor that it comes from."""
    if like.flags.c_contiguous and result.flags.c_contiguous:
        return result
    other = np.empty_like(like, result.dtype)
    other[...] = result
    return other


def _pick(a: np.ndarray, order: np.ndarray, dim: int) -> np.ndarray:
    if a.ndim == 1:
        return a[order]
    if a.ndim == 2 and dim == 1:
        return a[np.arange(len(a))[:, None], order]
    return np.take_along_axis(a, order, dim)


@op
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False, out: Any = None
) -> Any:
    a = input._a
    dim = checked_dim(dim, a.ndim)
    if a.ndim == 0:
        return Sort(wrap(a.copy()), wrap(np.zeros((), INT64)))
    order = _order(a, dim, descending)
    return Sort(wrap(_laid_out(_pick(a, order, dim), a)), wrap(_laid_out(order.astype(INT64), a)))


@op
def argsort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False) -> Tensor:
    return sort(input, dim, descending)[1]


@function
def msort(input: Tensor) -> Tensor:
    return sort(input, 0)[0]


@op
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    a = input._a
    dim = checked_dim(dim, a.ndim)
    if a.ndim == 0:
        return TopK(wrap(a.copy()), wrap(np.zeros((), INT64)))
    size = a.shape[dim]
    if not 0 <= k <= size:
        raise RuntimeError("selected index k out of range")
    if 4 * k < size and size > 64 and a.dtype.kind != "u" and not (a.dtype.kind == "f" and np.isnan(a).any()):
        # first whoever may be among them: ordering all takes longer
        side = np.argpartition(a, size - k if largest and k else k, dim)
        part = side[_at(dim, slice(size - k, None) if largest else slice(0, k))]
        part = np.sort(part, dim)  # so that equal ones come in the order of their places
        values = np.take_along_axis(a, part, dim)
        order = _order(values, dim, largest)
        order = np.take_along_axis(part, order, dim)
    else:
        order = _order(a, dim, largest)[_at(dim, slice(0, k))]
    return TopK(wrap(_pick(a, order, dim)), wrap(order.astype(INT64)))


def _at(dim: int, part: slice) -> tuple[Any, ...]:
    return (*([slice(None)] * dim), part)


@op
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    values, indices = sort(input, dim)
    at = (*([slice(None)] * checked_dim(dim, input._a.ndim)), slice(k - 1, k) if keepdim else k - 1, ...)
    return Sort(wrap(values._a[at]), wrap(indices._a[at]))


@op
def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None, out: Any = None) -> Tensor:
    a = input._a
    to = np_dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind == "f" else INT64
    dim = checked_dim(dim, a.ndim)
    return reduced(a.astype(to) if a.ndim == 0 else np.add.accumulate(a, dim, to))


@op
def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    a = input._a
    to = np_dtype(dtype) if dtype is not None else a.dtype if a.dtype.kind == "f" else INT64
    dim = checked_dim(dim, a.ndim)
    return reduced(a.astype(to) if a.ndim == 0 else np.multiply.accumulate(a, dim, to))


Tensor.cumsum_ = lambda self, dim: store_result(self, cumsum(self, dim)._a)  # type: ignore[attr-defined]


def _cumulative(name: str, ufunc: Any) -> None:
    def f(input: Tensor, dim: int) -> Any:
        a = input._a
        dim = checked_dim(dim, a.ndim)
        values = ufunc.accumulate(a, dim)
        places = np.arange(a.shape[dim]).reshape([-1 if d == dim else 1 for d in range(a.ndim)])
        indices = np.maximum.accumulate(np.where(a == values, places, 0), dim)
        return CumMax(wrap(values), wrap(indices.astype(INT64)))

    f.__name__ = f.__qualname__ = name
    op(f)


_cumulative("cummax", np.maximum)
_cumulative("cummin", np.minimum)


@op
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    return wrap(np.logaddexp.accumulate(input._a, dim))


@op
def diff(input: Tensor, n: int = 1, dim: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    if input._a.ndim == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    extra = {k: v._a for k, v in {"prepend": prepend, "append": append}.items() if v is not None}
    return wrap(np.diff(input._a, n, dim, **extra))


@op
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    a = input._a if input._a.dtype.kind == "f" else input._a.astype(default.np)
    axis = axes(dim, a.ndim)
    largest = np.maximum.reduce(a, axis, None, None, True, -np.inf)
    largest = np.where(np.isfinite(largest), largest, a.dtype.type(0))
    r = np.log(np.add.reduce(np.exp(a - largest), axis, None, None, True)) + largest
    r = r if keepdim else r.squeeze(axis)
    return reduced(r)


def softmax_np(a: np.ndarray, dim: int) -> np.ndarray:
    e = a - np.maximum.reduce(a, dim, None, None, True)
    np.exp(e, e)
    e /= np.add.reduce(e, dim, None, None, True)
    return e


def _softmax_input(input: Tensor, to: dtype | None, name: str) -> np.ndarray:
    a = input._a
    if to is not None:
        a = a.astype(np_dtype(to), copy=False)
    if a.dtype.kind != "f" and a.size:
        raise NotImplementedError(f'"{name}_kernel_impl" not implemented for {input.dtype}')
    return a


@op
def softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    dim = checked_dim(dim, input._a.ndim)
    a = _softmax_input(input, dtype, "softmax_lastdim")
    if a.ndim == 0 or a.size == 0:
        return wrap(np.ones_like(a))
    if a.dtype is FLOAT16:
        return wrap(softmax_np(a.astype(FLOAT32), dim).astype(FLOAT16))
    return reduced(softmax_np(a, dim))


@op
def log_softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    checked_dim(dim, input._a.ndim)
    a = _softmax_input(input, dtype, "log_softmax_lastdim")
    if a.size == 0:
        return wrap(a.copy())
    return reduced(a - logsumexp(wrap(a), dim, True)._a)


Unique = namedtuple("unique", "output inverse_indices counts")


@op
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    a = input._a
    if not (return_inverse or return_counts):
        return wrap(np.unique(a, axis=dim))
    values, inverse, counts = np.unique(a, return_inverse=True, return_counts=True, axis=dim)
    results = [wrap(values)]
    if return_inverse:
        results.append(wrap(inverse.reshape(a.shape if dim is None else -1).astype(INT64)))
    if return_counts:
        results.append(wrap(counts.astype(INT64)))
    return tuple(results)


@op
def unique_consecutive(input: Tensor, return_inverse: bool = False, return_counts: bool = False) -> Any:
    a = input._a.reshape(-1)
    first = np.concatenate(([True], a[1:] != a[:-1])) if a.size else np.zeros(0, bool)
    results = [wrap(a[first])]
    if return_inverse:
        results.append(wrap((np.cumsum(first) - 1).astype(INT64).reshape(input._a.shape)))
    if return_counts:
        results.append(wrap(np.diff(np.append(np.nonzero(first)[0], a.size)).astype(INT64)))
    return results[0] if len(results) == 1 else tuple(results)


@op
def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    a = input._a
    if a.dtype.kind not in "iu" or (a.size and a.min() < 0) or a.ndim != 1:
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    counts = np.bincount(a.astype(np.intp), None if weights is None else weights._a, minlength)
    return wrap(counts if weights is not None else counts.astype(INT64))


@op
def histc(input: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    a = input._a
    limits = (a.min(), a.max()) if min == max == 0 else (min, max)
    return wrap(np.histogram(a, bins, limits)[0].astype(a.dtype))


@op
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    return wrap(np.asarray(np.count_nonzero(input._a, axes(dim, input._a.ndim)), INT64))


@op
def isin(elements: Any, test_elements: Any, *, invert: bool = False) -> Tensor:
    one = elements._a if isinstance(elements, Tensor) else elements
    other = test_elements._a if isinstance(test_elements, Tensor) else test_elements
    return wrap(np.isin(one, other, invert=invert))


@op
def equal(input: Tensor, other: Tensor) -> bool:
    a, b = input._a, other._a
    if a.shape != b.shape:
        return False
    return bool((a == b).all())


@op
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    if input._a.dtype != other._a.dtype:
        raise RuntimeError(f"{input.dtype} did not match {other.dtype}")
    return wrap(np.isclose(input._a, other._a, rtol, atol, equal_nan))


@op
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    return bool(isclose(input, other, rtol, atol, equal_nan)._a.all())


@op
def corrcoef(input: Tensor) -> Tensor:
    return wrap(np.asarray(np.corrcoef(input._a), input._a.dtype))


@op
def quantile(input: Tensor, q: Any, dim: Any = None, keepdim: bool = False) -> Tensor:
    at = q._a if isinstance(q, Tensor) else q
    return wrap(np.asarray(np.quantile(input._a, at, dim, keepdims=keepdim), input._a.dtype))
