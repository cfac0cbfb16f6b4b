"""Products of matrices."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Any

import numpy as np

from ._arith import store
from ._core import Tensor, method, op, wrap
from ._dtype import FLOAT16, FLOAT32
from ._operands import operands

_new = object.__new__
# numpy in the tab has no BLAS: its plain loop for `@` takes twice as long as that of einsum.
SLOW_MATMUL = sys.platform == "emscripten"
_einsum = np.einsum
with suppress(ImportError):
    from numpy._core.multiarray import c_einsum as _einsum  # without the search for a path


def _same_dtype(a: np.ndarray, b: np.ndarray, what: str = "mat1 and mat2") -> None:
    if a.dtype is not b.dtype and a.dtype != b.dtype:
        names = {
            "float32": "float",
            "float64": "double",
            "int64": "long int",
            "int32": "int",
            "float16": "c10::Half",
        }
        one, other = (names.get(x.dtype.name, x.dtype.name) for x in (a, b))
        raise RuntimeError(f"expected {what} to have the same dtype, but got: {one} != {other}")


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a @ b, of stacks of matrices, too."""
    if a.dtype is FLOAT16:
        return (a.astype(FLOAT32) @ b.astype(FLOAT32)).astype(FLOAT16)
    if SLOW_MATMUL and a.dtype is FLOAT32:
        if a.ndim == 2 and b.ndim == 2:
            return _einsum("ij,jk->ik", a, b)
        if a.ndim > 1 and b.ndim > 1:
            return _einsum("...ij,...jk->...ik", a, b)
    return np.matmul(a, b)


@op
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    a, b = input._a, other._a
    if a.ndim == 0 or b.ndim == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {a.ndim}D and {b.ndim}D"
        )
    _same_dtype(a, b, "m1 and m2")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise RuntimeError(_shapes(a, b))
    try:
        r = wrap(product(a, b))
    except ValueError:
        raise RuntimeError(_shapes(a, b)) from None
    if out is not None:
        store(out._a, r._a)
        return out
    return r


def _shapes(a: np.ndarray, b: np.ndarray) -> str:
    if a.ndim == b.ndim == 2:
        one, other = ("x".join(map(str, x.shape)) for x in (a, b))
        return f"mat1 and mat2 shapes cannot be multiplied ({one} and {other})"
    return f"size mismatch, got input {list(a.shape)}, other {list(b.shape)}"


def _matmul_operator(self: Tensor, other: Any) -> Any:
    return matmul(self, other) if isinstance(other, Tensor) else NotImplemented


Tensor.__matmul__ = _matmul_operator  # type: ignore[attr-defined]


def _of_dims(name: str, one: int, other: int) -> None:
    def f(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
        if input._a.ndim != one or mat2._a.ndim != other:
            raise RuntimeError(
                f"{name}: expected tensors of {one} and {other} dimensions, got {input._a.ndim} and"
                f" {mat2._a.ndim}"
            )
        if name == "bmm" and input._a.shape[0] != mat2._a.shape[0]:
            raise RuntimeError("batch1 and batch2 must have same number of batches")
        return matmul(input, mat2, out=out)

    f.__name__ = f.__qualname__ = name
    op(f)


for _name, _one, _other in (("mm", 2, 2), ("bmm", 3, 3), ("mv", 2, 1), ("dot", 1, 1)):
    _of_dims(_name, _one, _other)


@op
def inner(input: Tensor, other: Tensor) -> Tensor:
    return wrap(np.inner(input._a, other._a))


@op
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    if input._a.ndim != 1 or vec2._a.ndim != 1:
        raise RuntimeError(f"outer: Expected 1-D arguments, but got {input._a.ndim}-D and {vec2._a.ndim}-D")
    a, b = operands(input._a, vec2, "outer")
    return wrap(np.multiply.outer(a, b))


@op
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    r = matmul(mat1, mat2)
    return (input if beta == 1 else input * beta) + (r if alpha == 1 else r * alpha)


@op
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    return addmm(input, batch1, batch2, beta=beta, alpha=alpha)


@method
def addmm_(self: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
    store(self._a, addmm(self, mat1, mat2)._a)
    return self


def einsum(equation: str, *operands: Any) -> Tensor:
    if len(operands) == 1 and isinstance(operands[0], list | tuple):
        operands = tuple(operands[0])
    arrays = [t._a for t in operands]
    for a in arrays[1:]:
        _same_dtype(arrays[0], a, "operands")
    try:
        r = np.einsum(equation.replace(" ", ""), *arrays, optimize=len(arrays) > 1 and not SLOW_MATMUL)
    except ValueError as error:
        raise RuntimeError(f"einsum(): {error}") from None
    return wrap(r)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    return wrap(np.tensordot(a._a, b._a, dims))


@op
def trace(input: Tensor) -> Tensor:
    return wrap(np.trace(input._a))


def linear_np(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """x w^T, w [out, in]."""
    if x.dtype is FLOAT32:
        if not SLOW_MATMUL:
            return x.dot(w.T) if x.ndim <= 2 else np.matmul(x, w.T)
        return _einsum("...i,oi->...o", x, w)
    return product(x, w.T)
