"""Parts of a tensor, and tensors from parts: repeated, split, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._arith import store
from ._core import Tensor, checked_dim, function, method, op, wrap
from ._dtype import INT64, as_int, as_shape, promote_np

_new = object.__new__


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
