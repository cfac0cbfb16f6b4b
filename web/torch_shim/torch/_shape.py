"""Shapes: views of the same memory, joining and cutting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arith import store
from ._core import Tensor, checked_dim, function, method, op, wrap
from ._dtype import INT64, Size, as_int, as_shape, dtype, np_dtype, promote_np

_new = object.__new__
_ndarray = np.ndarray


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


@method
def repeat(self: Tensor, *repeats: Any) -> Tensor:
    times = as_shape(repeats)
    if len(times) < self._a.ndim:
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    return wrap(np.tile(self._a, times))


@op
def tile(input: Tensor, *dims: Any) -> Tensor:
    return wrap(np.tile(input._a, as_shape(dims)))


@op
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    a = input._a
    if repeats is None:  # of a list of counts: each place as often as its count says
        if a.ndim != 1:
            raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
        return wrap(np.arange(a.size, dtype=INT64).repeat(_counts(a)))
    counts: Any = _counts(repeats._a) if isinstance(repeats, Tensor) else repeats
    if dim is not None:
        if a.ndim == 0:
            raise IndexError("Dimension specified as 0 but tensor has no dimensions")
        dim = checked_dim(dim, a.ndim)
    try:
        return wrap(a.repeat(counts, dim))
    except ValueError:
        raise RuntimeError(
            "repeats must have the same size as input along dim, but got"
            f" repeats.size(0) = {np.size(counts)} and input.size({dim})"
        ) from None


def _counts(a: np.ndarray) -> np.ndarray:
    if a.dtype.kind not in "iu":
        raise RuntimeError("repeats has to be Long or Int tensor")
    if a.size and a.min() < 0:
        raise RuntimeError("repeats can not be negative")
    return a.astype(np.intp, copy=False)


def _needs_dims(a: np.ndarray, name: str) -> None:
    if a.ndim == 0:
        raise RuntimeError(f"{name} expects at least a 1-dimensional tensor")


@op
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    a = input._a
    _needs_dims(a, "narrow")
    dim = checked_dim(dim, a.ndim)
    start = as_int(start)
    size = a.shape[dim]
    if not -size <= start <= size:
        raise IndexError(f"Dimension out of range (start {start} of a dimension of size {size})")
    if start < 0:
        start += size
    if start < 0 or length < 0 or start + length > size:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({size}).")
    return wrap(a[(*([slice(None)] * dim), slice(start, start + length))])


@op
def select(input: Tensor, dim: int, index: int) -> Tensor:
    a = input._a
    dim = checked_dim(dim, a.ndim)
    try:
        return wrap(a[(*([slice(None)] * dim), as_int(index), ...)])
    except IndexError:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(a.shape)} at dimension {dim}"
        ) from None


@op
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    a = input._a
    dim = checked_dim(dim, a.ndim)
    if dim:
        a = np.moveaxis(a, dim, 0)
    return tuple([wrap(a[i, ...]) for i in range(a.shape[0])])


@op
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    a = input._a
    _needs_dims(a, "split")
    if dim:
        dim = checked_dim(dim, a.ndim)
    size = a.shape[dim]
    sections = split_size_or_sections
    if sections.__class__ is int:
        if sections < 0 or (sections == 0 and size):
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={sections}")
        sections = [min(sections, size - i) for i in range(0, size, sections)] if size else [0]
    elif sum(sections) != size:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension"
            f" {dim}), but got split_sizes={list(sections)}"
        )
    parts, start = [], 0
    for length in sections:
        end = start + length
        tensor = _new(Tensor)
        if dim == 0:
            tensor._a = a[start:end]
        elif dim == 1:
            tensor._a = a[:, start:end]
        else:
            tensor._a = a[(*((slice(None),) * dim), slice(start, end))]
        parts.append(tensor)
        start = end
    return tuple(parts)


@op
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    a = input._a
    _needs_dims(a, "chunk")
    dim = checked_dim(dim, a.ndim)
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    size = a.shape[dim]
    if size == 0:
        return split(input, [0] * chunks, dim)
    return split(input, -(-size // chunks), dim)


@op
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    given = indices_or_sections
    _needs_dims(input._a, "tensor_split")
    if isinstance(given, Tensor):
        given = given.tolist()
    return tuple([wrap(part) for part in np.array_split(input._a, given, checked_dim(dim, input._a.ndim))])


@method
def contiguous(self: Tensor, memory_format: Any = None) -> Tensor:
    a = self._a
    return self if a.flags.c_contiguous else wrap(np.ascontiguousarray(a))


@function
def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    arrays = [tensor._a for tensor in tensors]
    if not arrays:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    first = arrays[0]
    d, n, mixed = first.dtype, first.ndim, False
    for a in arrays:
        if a.ndim == 0:
            raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
        if a.dtype is not d:
            d = promote_np(d, a.dtype)
            mixed = True
        if a.ndim != n:
            mixed = True
    if mixed:  # an empty row of no tensor may stand beside tensors of any shape
        kept = [a for a in arrays if a.shape != (0,)]
        arrays = [a.astype(d, copy=False) for a in (kept or arrays)]
        n = arrays[0].ndim
    try:
        r = np.concatenate(arrays, dim)
    except ValueError:
        raise _cat_error(arrays, checked_dim(dim, n)) from None
    if not r.flags.c_contiguous:
        r = np.ascontiguousarray(r)
    if out is not None:
        if out._a.shape == r.shape:
            store(out._a, r)
        else:
            out._a = r.astype(out._a.dtype, copy=False)
        return out
    result = _new(Tensor)
    result._a = r
    return result


def _cat_error(arrays: list[np.ndarray], dim: int) -> RuntimeError:
    for i, a in enumerate(arrays):
        if a.ndim != arrays[0].ndim:
            return RuntimeError(
                f"Tensors must have same number of dimensions: got {arrays[0].ndim} and {a.ndim}"
            )
        if a.shape[:dim] + a.shape[dim + 1 :] != arrays[0].shape[:dim] + arrays[0].shape[dim + 1 :]:
            other = next(d for d in range(a.ndim) if d != dim and a.shape[d] != arrays[0].shape[d])
            return RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size"
                f" {arrays[0].shape[other]} but got size {a.shape[other]} for tensor number {i} in the list."
            )
    return RuntimeError("these tensors cannot be concatenated")


@function
def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    arrays = [tensor._a for tensor in tensors]
    if not arrays:
        raise RuntimeError("stack expects a non-empty TensorList")
    dim = checked_dim(dim, arrays[0].ndim + 1)
    for i, a in enumerate(arrays):
        if a.shape != arrays[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(arrays[0].shape)} at entry 0 and"
                f" {list(a.shape)} at entry {i}"
            )
    d = arrays[0].dtype
    for a in arrays:
        d = d if a.dtype is d else promote_np(d, a.dtype)
    r = np.stack([a.astype(d, copy=False) for a in arrays], dim)
    r = r if r.flags.c_contiguous else np.ascontiguousarray(r)
    if out is not None:
        store(out._a, r)
        return out
    return wrap(r)


@function
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    return cat(tensors, 0 if tensors[0]._a.ndim <= 1 else 1)


@function
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    return wrap(np.vstack([tensor._a for tensor in tensors]))


@op
def flip(input: Tensor, *dims: Any) -> Tensor:
    if input._a.ndim == 0:
        for d in as_shape(dims):
            checked_dim(d, 0)
        return wrap(input._a.copy())
    return wrap(np.flip(input._a, tuple([checked_dim(d, input._a.ndim) for d in as_shape(dims)])).copy("K"))


@op
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    return wrap(np.roll(input._a, shifts, dims))


def _triangle(name: str, f: Any) -> None:
    def g(input: Tensor, diagonal: int = 0) -> Tensor:
        if input._a.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        r = f(input._a, diagonal)
        return wrap(r if r.flags.c_contiguous else np.ascontiguousarray(r))

    g.__name__ = g.__qualname__ = name
    op(g)
    setattr(Tensor, f"{name}_", lambda self, diagonal=0: copy_(self, g(self, diagonal)))


_triangle("triu", np.triu)
_triangle("tril", np.tril)


@op
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    return wrap(input._a.diagonal(offset, dim1, dim2))


@op
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    return wrap(np.diag(input._a, diagonal).copy())


@method
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    windows = np.lib.stride_tricks.sliding_window_view(self._a, size, dimension)
    return wrap(windows[(*([slice(None)] * checked_dim(dimension, self._a.ndim)), slice(None, None, step))])


@op
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Tensor:
    a = input._a
    flat = a if storage_offset is None else a.reshape(-1)[storage_offset:]
    bytes_ = [step * a.itemsize for step in stride]
    return wrap(np.lib.stride_tricks.as_strided(flat, tuple(size), bytes_))


@method
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    store(self._a, src._a if isinstance(src, Tensor) else src)
    return self


@method
def fill_(self: Tensor, value: Any) -> Tensor:
    a = self._a
    if not a.flags.writeable:  # expanded: elements that are one may all be set to the same
        a = a.view()
        a.flags.writeable = True
    store(a, value._a if isinstance(value, Tensor) else value)
    return self


@method
def zero_(self: Tensor) -> Tensor:
    self._a.fill(0)
    return self


@op
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    tensor = _new(Tensor)
    tensor._a = input._a.copy("K")
    return tensor


@method
def resize_(self: Tensor, *sizes: Any) -> Tensor:
    self._a = np.resize(self._a, as_shape(sizes))
    return self


def _itself(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    return self


for _name in (
    "cpu",
    "pin_memory",
    "requires_grad_",
    "share_memory_",
    "coalesce",
    "resolve_conj",
    "resolve_neg",
):
    setattr(Tensor, _name, _itself)


@op
def detach(input: Tensor) -> Tensor:
    tensor = _new(Tensor)
    tensor._a = input._a
    return tensor


Tensor.detach_ = _itself  # type: ignore[attr-defined]
Tensor.is_pinned = lambda self: False  # type: ignore[attr-defined]
Tensor.is_shared = lambda self: False  # type: ignore[attr-defined]
