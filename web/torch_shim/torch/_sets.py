"""Values as a set, and comparisons of whole tensors."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from ._core import Tensor, op, wrap
from ._dtype import INT64
from ._reduce import axes

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
