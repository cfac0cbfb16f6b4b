"""Shapes: views of the same memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._core import Tensor, checked_dim, function, method, op, wrap
from ._dtype import Size, as_shape, dtype, np_dtype

_new = object.__new__


def _shape_error(shape: Sequence[int], size: int) -> RuntimeError:
    return RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")


def _view_error() -> RuntimeError:
    return RuntimeError(
        "view size is not compatible with input tensor's size and stride (at least one dimension spans across"
        " two contiguous subspaces). Use .reshape(...) instead."
    )


def _plain(shape: tuple[Any, ...]) -> tuple[int, ...]:
    for size in shape:
        if size.__class__ is not int:
            return as_shape(shape)
    return shape


@method
def view(self: Tensor, *shape: Any) -> Tensor:
    a = self._a
    if len(shape) == 1 and shape[0].__class__ is dtype:
        return _view_dtype(a, shape[0])
    sizes = _plain(shape)
    tensor = _new(Tensor)
    if a.flags.c_contiguous:
        try:
            tensor._a = a.reshape(sizes)
        except ValueError:
            raise _shape_error(sizes, a.size) from None
        return tensor
    try:
        tensor._a = np.reshape(a, sizes, copy=False)
    except ValueError as error:
        if "copy" in str(error):
            raise _view_error() from None
        raise _shape_error(sizes, a.size) from None
    return tensor


def _view_dtype(a: np.ndarray, d: dtype) -> Tensor:
    to = np_dtype(d)
    try:
        return wrap(a.view(to))
    except ValueError:
        raise RuntimeError(
            f"self.size(-1) must be divisible by {to.itemsize // a.itemsize or 1} to view {a.dtype} as {d}"
            " (different element sizes), and its last dimension must be contiguous"
        ) from None


@op
def reshape(input: Tensor, *shape: Any) -> Tensor:
    if len(shape) == 1 and shape[0].__class__ is not int:
        sizes = as_shape(shape)
    else:
        sizes = _plain(shape)
    a = input._a
    tensor = _new(Tensor)
    try:
        tensor._a = a.reshape(sizes)
    except ValueError:
        raise _shape_error(sizes, a.size) from None
    return tensor


@method
def view_as(self: Tensor, other: Tensor) -> Tensor:
    return view(self, *other._a.shape)


@method
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    return reshape(self, *other._a.shape)


@op
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    a = input._a
    shape, n = a.shape, a.ndim
    if n == 0:
        checked_dim(start_dim, 0), checked_dim(end_dim, 0)
        return wrap(a.reshape(1))
    start, end = checked_dim(start_dim, n), checked_dim(end_dim, n)
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if start == end:
        return input
    product = 1
    for size in shape[start : end + 1]:
        product *= size
    tensor = _new(Tensor)
    tensor._a = a.reshape((*shape[:start], product, *shape[end + 1 :]))
    return tensor


@op
def ravel(input: Tensor) -> Tensor:
    return wrap(input._a.ravel())


@op
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    shape = input._a.shape
    dim = checked_dim(dim, len(shape))
    return reshape(input, *shape[:dim], *sizes, *shape[dim + 1 :])


@op
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    a = input._a
    tensor = _new(Tensor)
    if a.ndim == 0:
        checked_dim(dim0, 0), checked_dim(dim1, 0)
        tensor._a = a
        return tensor
    try:
        tensor._a = a.swapaxes(dim0, dim1)
    except (ValueError, TypeError):
        n = a.ndim
        tensor._a = a.swapaxes(checked_dim(dim0, n), checked_dim(dim1, n))
    return tensor


@op
def t(input: Tensor) -> Tensor:
    if input._a.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input._a.ndim}D")
    return wrap(input._a.T)


Tensor.T = property(lambda self: wrap(self._a.T))  # type: ignore[attr-defined]


def _matrix_transpose(self: Tensor) -> Tensor:
    if self._a.ndim < 2:
        raise RuntimeError(
            f"tensor.mT is only supported on matrices or batches of matrices. Got {self._a.ndim}-D tensor."
        )
    return wrap(self._a.swapaxes(-1, -2))


Tensor.mT = property(_matrix_transpose)  # type: ignore[attr-defined]
Tensor.H = Tensor.T  # type: ignore[attr-defined]


@op
def permute(input: Tensor, *dims: Any) -> Tensor:
    a = input._a
    order = tuple([checked_dim(d, a.ndim) for d in as_shape(dims)])
    if len(order) != a.ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the"
            f" desired ordering of dimensions i.e. input.dim() = {a.ndim} is not equal to len(dims) ="
            f" {len(order)}"
        )
    if len(set(order)) != len(order):
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    return wrap(a.transpose(order))


@op
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    return wrap(np.moveaxis(input._a, source, destination))


@op
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    a = input._a
    n = a.ndim + 1
    at = dim + n if dim < 0 else dim
    if not 0 <= at < n:
        checked_dim(dim, n)
    tensor = _new(Tensor)
    if at == 0:
        tensor._a = a[None]
    elif at == 1:
        tensor._a = a[:, None]
    else:
        tensor._a = a[(*((slice(None),) * at), None)]
    return tensor


@op
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    a = input._a
    if dim is None:
        return wrap(a.squeeze())
    dims = dim if isinstance(dim, tuple | list) else (dim,)
    ones = tuple([d for d in (checked_dim(d, a.ndim) for d in dims) if a.ndim and a.shape[d] == 1])
    return wrap(a.squeeze(ones) if ones else a)


@method
def expand(self: Tensor, *sizes: Any) -> Tensor:
    a = self._a
    wanted = as_shape(sizes)
    ahead = len(wanted) - a.ndim
    if ahead < 0:
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(a.shape)}}}, size={list(wanted)}): the number of sizes provided"
            f" ({len(wanted)}) must be greater or equal to the number of dimensions in the tensor ({a.ndim})"
        )
    shape = []
    for i, size in enumerate(wanted):
        old = a.shape[i - ahead] if i >= ahead else None
        if size == -1:
            if old is None:
                raise RuntimeError(
                    f"expand: the expanded size of the tensor ({size}) isn't allowed in a leading,"
                    f" non-existing dimension {i}"
                )
            size = old
        if old is not None and old != 1 and old != size:
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({old}) at"
                f" non-singleton dimension {i}.  Target sizes: {list(wanted)}.  Tensor sizes: {list(a.shape)}"
            )
        shape.append(size)
    if tuple(shape[ahead:]) == a.shape and all(size == 1 for size in shape[:ahead]):
        return wrap(a.reshape(shape) if a.flags.c_contiguous else a[(None,) * ahead])
    return wrap(np.broadcast_to(a, shape))


@method
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    return expand(self, *other._a.shape)


@function
def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    return expand(input, *size)


@function
def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    return tuple([wrap(a) for a in np.broadcast_arrays(*[x._a for x in tensors])])


@function
def broadcast_shapes(*shapes: Any) -> Size:
    try:
        return Size(np.broadcast_shapes(*shapes))
    except ValueError:
        raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape") from None
