"""Each operation does on the shim what it does on torch: values, dtypes, shapes, strides, memory, errors."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from both_worlds import DTYPES, Case, compare
from hypothesis import given, settings
from hypothesis import strategies as st

LAYOUTS = ("plain", "plain", "transposed", "every second", "tail")


@st.composite
def case(
    draw: Any,
    dtypes: Any = DTYPES,
    min_dims: int = 0,
    max_dims: int = 3,
    max_size: int = 4,
    shape: Any = None,
) -> Case:
    dtype = draw(st.sampled_from(dtypes))
    if shape is None:
        shape = draw(st.lists(st.integers(0, max_size), min_size=min_dims, max_size=max_dims).map(tuple))
    seed = draw(st.integers(0, 2**16))
    return Case(values(dtype, shape, seed), draw(st.sampled_from(LAYOUTS)))


def values(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        array = rng.standard_normal(shape).astype(dtype)
        return np.round(array * 4, 0).astype(dtype) if seed % 3 == 0 else array  # with ties
    low = 0 if dtype == "uint8" else -5
    return rng.integers(low, 6, shape).astype(dtype)


SCALARS = st.one_of(st.integers(-3, 3), st.sampled_from([0.5, -1.5, 2.0]), st.booleans())
DIMS = st.integers(-4, 3)

BINARY = {
    "+": lambda w, x, y: x + y,
    "-": lambda w, x, y: x - y,
    "*": lambda w, x, y: x * y,
    "/": lambda w, x, y: x / y,
    "//": lambda w, x, y: x // y,
    "%": lambda w, x, y: x % y,
    "==": lambda w, x, y: x == y,
    "!=": lambda w, x, y: x != y,
    "<": lambda w, x, y: x < y,
    "<=": lambda w, x, y: x <= y,
    ">": lambda w, x, y: x > y,
    ">=": lambda w, x, y: x >= y,
    "&": lambda w, x, y: x & y,
    "|": lambda w, x, y: x | y,
    "^": lambda w, x, y: x ^ y,
    "+=": lambda w, x, y: x.__iadd__(y),
    "-=": lambda w, x, y: x.__isub__(y),
    "*=": lambda w, x, y: x.__imul__(y),
    "/=": lambda w, x, y: x.__itruediv__(y),
    "maximum": lambda w, x, y: w.maximum(x, y),
    "minimum": lambda w, x, y: w.minimum(x, y),
    "where": lambda w, x, y: w.where(x > 0, x, y),
    "cat": lambda w, x, y: w.cat([x, y]),
    "cat -1": lambda w, x, y: w.cat([x, y], dim=-1),
    "stack": lambda w, x, y: w.stack([x, y]),
    "equal": lambda w, x, y: w.equal(x, y),
    "copy_": lambda w, x, y: x.copy_(y),
    "type_as": lambda w, x, y: x.type_as(y),
    "expand_as": lambda w, x, y: x.expand_as(y),
    "outer": lambda w, x, y: w.outer(x, y),
    "broadcast": lambda w, x, y: w.broadcast_shapes(x.shape, y.shape),
    "set": lambda w, x, y: x.__setitem__(slice(None), y),
}


@pytest.mark.parametrize("name", BINARY)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data())
def test_two_tensors(shim: ModuleType, name: str, data: st.DataObject) -> None:
    x = data.draw(case())
    same = data.draw(st.booleans())
    y = data.draw(case(shape=x.array.shape) if same else case(max_dims=2))
    if y.array.shape == x.array.shape:
        y.layout = x.layout
    if name in ("/", "//", "%", "/="):
        y.array = np.where(y.array == 0, np.ones_like(y.array), y.array)
    compare(shim, BINARY[name], [x, y])


@pytest.mark.parametrize(
    "name", ["+", "-", "*", "/", "//", "%", "==", "<", ">=", "&", "+=", "-=", "*=", "/=", "where"]
)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=case(), scalar=SCALARS)
def test_a_tensor_and_a_number(shim: ModuleType, name: str, x: Case, scalar: Any) -> None:
    if name in ("/", "//", "%", "/=") and not scalar:
        scalar = 2
    if x.array.dtype == np.uint8 and scalar < 0:  # torch's rules there are its own
        scalar = -scalar
    compare(shim, lambda w, t: BINARY[name](w, t, scalar), [x])
    if name in ("+", "-", "*"):
        compare(shim, lambda w, t: BINARY[name](w, scalar, t), [x])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    x=case(dtypes=("float32", "int64", "float64")), scalar=st.integers(-2, 3) | st.sampled_from([0.5, 2.0])
)
def test_powers(shim: ModuleType, x: Case, scalar: Any) -> None:
    compare(shim, lambda w, t: t**scalar, [x], rtol=1e-4)
    if scalar > 1:
        compare(shim, lambda w, t: scalar ** t.abs(), [x], rtol=1e-4)


def of_torch(name: str) -> Any:
    return lambda w, x: getattr(w, name)(x)


def of_tensor(name: str) -> Any:
    return lambda w, x: getattr(x, name)()


def along(name: str) -> Any:
    return lambda w, x, d, keep: getattr(x, name)(dim=d, keepdim=keep)


UNARY = {
    **{
        name: of_torch(name)
        for name in (
            "exp", "log", "sqrt", "rsqrt", "sin", "cos", "tanh", "sigmoid", "neg", "abs", "floor", "ceil",
            "square", "isfinite", "isnan", "sign", "reciprocal", "log1p", "relu", "trunc", "round",
        )
    },
    **{
        name: of_tensor(name)
        for name in (
            "clone", "contiguous", "flatten", "t", "numel", "dim", "is_contiguous", "stride", "tolist",
            "nonzero", "unique", "float", "long", "int", "bool", "double", "any", "all", "sum", "max",
            "min", "argmax", "squeeze", "mean", "zero_", "item", "detach", "ravel", "prod", "argmin", "amax",
            "amin", "isfinite", "element_size", "__len__", "__bool__", "logical_not",
        )
    },
    "~": lambda w, x: ~x,
    "-": lambda w, x: -x,
    "zeros_like": lambda w, x: w.zeros_like(x),
    "T": lambda w, x: x.T if x.dim() == 2 else None,
    "mT": lambda w, x: x.mT if x.dim() >= 2 else None,
    "unbind": lambda w, x: x.unbind(),
    "iterate": lambda w, x: list(x),
    "nonzero tuple": lambda w, x: x.nonzero(as_tuple=True),
    "where": lambda w, x: w.where(x),
    "clamp": lambda w, x: x.clamp(min=-1, max=2),
    "clamp to a float": lambda w, x: x.clamp(0.5),
    "unique, all": lambda w, x: w.unique(x, return_inverse=True, return_counts=True),
    "shape": lambda w, x: x.shape,
    "shape[1:]": lambda w, x: x.shape[1:],
    "to float16": lambda w, x: x.to(w.float16),
    "int8 and back": lambda w, x: x.to(w.int8).to(w.int64) if x.dtype != w.bool else x,
    "triu": lambda w, x: x.triu(1),
    "tril": lambda w, x: x.tril(-1),
    "fill_": lambda w, x: x.fill_(3),
    "softmax": lambda w, x: x.softmax(-1),
    "log_softmax": lambda w, x: w.log_softmax(x, -1),
    "nan_to_num": lambda w, x: (x / 0).nan_to_num(0.0) if x.dtype.is_floating_point else x,
    "logsumexp": lambda w, x: x.logsumexp(dim=-1) if x.dtype.is_floating_point else x,
    "view(-1)": lambda w, x: x.view(-1),
    "bincount": lambda w, x: x.flatten().abs().long().bincount(),
    "aminmax": lambda w, x: tuple(x.aminmax()),
    "diff": lambda w, x: x.diff(),
    "count_nonzero": lambda w, x: x.count_nonzero(),
    "view as bytes": lambda w, x: x.flatten().contiguous().view(w.uint8) if x.numel() > 1 else None,
    "storage_offset": lambda w, x: x.storage_offset() if x.numel() else None,
    "int()": lambda w, x: int(x),
    "float()": lambda w, x: float(x),
    "copy": lambda w, x: x.to(w.float32, copy=True),
}  # fmt: skip


@pytest.mark.parametrize("name", UNARY)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=case())
def test_one_tensor(shim: ModuleType, name: str, x: Case) -> None:
    compare(shim, UNARY[name], [x], rtol=1e-4)


WITH_DIM = {
    **{
        name: along(name)
        for name in ("sum", "mean", "max", "min", "argmax", "argmin", "amax", "amin", "any", "all")
    },
    "cumsum": lambda w, x, d, keep: x.cumsum(d),
    "softmax": lambda w, x, d, keep: x.softmax(d),
    "sort": lambda w, x, d, keep: tuple(x.sort(dim=d, stable=True)),
    "sort down": lambda w, x, d, keep: tuple(x.sort(dim=d, descending=True, stable=True)),
    "unsqueeze": lambda w, x, d, keep: x.unsqueeze(d),
    "squeeze": lambda w, x, d, keep: x.squeeze(d),
    "unbind": lambda w, x, d, keep: x.unbind(d),
    "size": lambda w, x, d, keep: x.size(d),
    "transpose": lambda w, x, d, keep: x.transpose(d, 0),
    "split": lambda w, x, d, keep: x.split(2, dim=d),
    "chunk": lambda w, x, d, keep: x.chunk(2, dim=d),
    "tensor_split": lambda w, x, d, keep: x.tensor_split(3, dim=d),
    "narrow": lambda w, x, d, keep: x.narrow(d, 1, 1),
    "select": lambda w, x, d, keep: x.select(d, -1),
    "flip": lambda w, x, d, keep: x.flip(d),
    "flatten": lambda w, x, d, keep: x.flatten(0, d),
    "repeat_interleave": lambda w, x, d, keep: x.repeat_interleave(2, dim=d),
    "logsumexp": lambda w, x, d, keep: x.float().logsumexp(d, keep),
    "aminmax": lambda w, x, d, keep: tuple(x.aminmax(dim=d, keepdim=keep)),
    "prod": lambda w, x, d, keep: x.prod(d, keep),
}


@pytest.mark.parametrize("name", WITH_DIM)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=case(), dim=DIMS, keep=st.booleans())
def test_along_a_dimension(shim: ModuleType, name: str, x: Case, dim: int, keep: bool) -> None:
    compare(shim, lambda w, t: WITH_DIM[name](w, t, dim, keep), [x], rtol=1e-4)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=case(), shape=st.lists(st.integers(-1, 6), max_size=4))
def test_view_and_reshape(shim: ModuleType, x: Case, shape: list[int]) -> None:
    if -1 in shape and 0 in (*shape, x.array.size):
        return  # which of several errors it is does not matter
    compare(shim, lambda w, t: t.view(*shape) if shape else t, [x])
    compare(shim, lambda w, t: t.reshape(shape), [x])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=case(), data=st.data())
def test_views_that_fit(shim: ModuleType, x: Case, data: st.DataObject) -> None:
    n = x.array.size
    divisors = [d for d in range(1, n + 1) if n % d == 0] or [1]
    a = data.draw(st.sampled_from(divisors))
    compare(shim, lambda w, t: t.view(a, -1), [x])
    compare(shim, lambda w, t: t.reshape(-1, a), [x])
    order = data.draw(st.permutations(range(x.array.ndim)))
    compare(shim, lambda w, t: t.permute(*order) if order else t, [x])
    compare(shim, lambda w, t: t.permute(order).contiguous(), [x])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=case(), sizes=st.lists(st.integers(-1, 4), max_size=4))
def test_expand(shim: ModuleType, x: Case, sizes: list[int]) -> None:
    compare(shim, lambda w, t: t.expand(*sizes) if sizes else t, [x])
    if all(size >= 0 for size in sizes):
        compare(shim, lambda w, t: t.repeat(*sizes) if sizes else t, [x])


SLICES = st.builds(
    slice, st.none() | st.integers(-5, 5), st.none() | st.integers(-5, 5), st.none() | st.integers(-1, 3)
)
LISTS = st.lists(st.integers(-3, 3), min_size=1, max_size=3)


@st.composite
def key(draw: Any, shape: tuple[int, ...]) -> Any:
    """An index, most often one that fits; lists stand for tensors of int64, tuples of bools for masks."""
    parts: list[Any] = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        kind = draw(st.sampled_from(["int", "slice", "slice", "list", "mask", "none", "0-d"]))
        if kind == "int":
            parts.append(draw(st.integers(-size - (size == 0), max(size - 1, 0))))
        elif kind == "slice":
            parts.append(draw(SLICES))
        elif kind == "list" and size:
            parts.append(draw(st.lists(st.integers(-size, size - 1), min_size=2, max_size=2)))
        elif kind == "mask" and size:
            parts.append(tuple(draw(st.lists(st.booleans(), min_size=size, max_size=size))))
        elif kind == "0-d" and size:
            parts.append({"number": draw(st.integers(0, size - 1))})
        else:
            parts.append(None)
            parts.append(slice(None))
    if draw(st.booleans()) and Ellipsis not in parts:
        parts.insert(draw(st.integers(0, len(parts))), Ellipsis)
    if len(parts) == 1 and draw(st.booleans()):
        return parts[0]
    return parts


def built(w: ModuleType, part: Any) -> Any:
    if isinstance(part, list) and all(type(i) is int for i in part):
        return w.tensor(part, dtype=w.int64)
    if isinstance(part, tuple):
        return w.tensor(list(part), dtype=w.bool)
    if isinstance(part, dict):
        return w.tensor(part["number"])
    return part


def built_key(w: ModuleType, drawn: Any) -> Any:
    if isinstance(drawn, list):
        return tuple(built(w, part) for part in drawn)
    return built(w, drawn)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(x=case(min_dims=1), data=st.data())
def test_reading_by_index(shim: ModuleType, x: Case, data: st.DataObject) -> None:
    shape = tuple(x.make(np_world()).shape)
    if 0 in shape:
        return  # which of several errors comes first is not promised
    drawn = data.draw(key(shape))
    compare(shim, lambda w, t: t[built_key(w, drawn)], [x])


def np_world() -> ModuleType:
    import torch

    return torch


@settings(max_examples=150, deadline=None, derandomize=True)
@given(x=case(min_dims=1), data=st.data(), value=SCALARS)
def test_writing_by_index(shim: ModuleType, x: Case, data: st.DataObject, value: Any) -> None:
    shape = tuple(x.make(np_world()).shape)
    if 0 in shape:
        return  # which of several errors comes first is not promised
    drawn = data.draw(key(shape))
    compare(shim, lambda w, t: t.__setitem__(built_key(w, drawn), value), [x])
    other = data.draw(case(max_dims=1))
    if other.array.size and x.make(np_world()).numel() and not has_doubles(drawn):
        compare(shim, lambda w, t, v: t.__setitem__(built_key(w, drawn), v), [x, other])


def has_doubles(drawn: Any) -> bool:
    """Whether a place may be written twice, where the last to write is nobody's promise; or no place."""
    parts = drawn if isinstance(drawn, list) else [drawn]
    if any(isinstance(part, tuple) and not any(part) for part in parts):
        return True
    return any(isinstance(part, list) for part in parts) or (
        isinstance(drawn, list) and any(type(part) is int for part in parts)
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=case(min_dims=1, max_dims=2), index=LISTS, dim=DIMS, dtype=st.sampled_from(["int64", "int32"]))
def test_index_select(shim: ModuleType, x: Case, index: list[int], dim: int, dtype: str) -> None:
    if x.make(
        np_world()
    ).numel():  # with nothing to select from, torch has its own mind about what is an error
        compare(shim, lambda w, t: t.index_select(dim, w.tensor(index, dtype=getattr(w, dtype))), [x])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), rows=st.integers(1, 4), columns=st.integers(1, 4), dim=st.sampled_from([0, 1, -1]))
def test_gather_and_scatter(shim: ModuleType, data: st.DataObject, rows: int, columns: int, dim: int) -> None:
    x = data.draw(case(dtypes=("float32", "int64"), shape=(rows, columns)))
    x.layout = "plain"
    size = (rows, columns)[dim]
    shape = (data.draw(st.integers(1, rows)), data.draw(st.integers(1, columns)))
    seed = data.draw(st.integers(0, 999))
    index = np.random.default_rng(seed).integers(0, size + (seed % 9 == 0), shape)
    compare(shim, lambda w, t: t.gather(dim, w.from_numpy(index.copy())), [x])
    compare(shim, lambda w, t: t.scatter(dim, w.from_numpy(index.copy()), 1), [x])
    source = Case(x.array[: shape[0], : shape[1]])
    compare(shim, lambda w, t, s: t.scatter_add_(dim, w.from_numpy(index.copy()), s), [x, source])
    if np.prod(shape) == 1:
        compare(shim, lambda w, t, s: t.scatter_(dim, w.from_numpy(index.copy()), s), [x, source])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(data=st.data(), rows=st.integers(2, 4), seed=st.integers(0, 99))
def test_index_copy_and_add(shim: ModuleType, data: st.DataObject, rows: int, seed: int) -> None:
    x = data.draw(case(dtypes=("float32", "int64"), shape=(rows, 3)))
    x.layout = "plain"
    index = np.random.default_rng(seed).permutation(rows)[: rows - 1]
    source = Case(x.array[: rows - 1] + 1)
    compare(shim, lambda w, t, s: t.index_copy_(0, w.from_numpy(index.copy()), s), [x, source])
    compare(shim, lambda w, t, s: t.index_copy(0, w.from_numpy(index.copy()).int(), s), [x, source])
    compare(shim, lambda w, t, s: t.index_add_(0, w.from_numpy(index.copy() * 0), s), [x, source])
    compare(shim, lambda w, t: t.index_fill_(0, w.from_numpy(index.copy()), 7), [x])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(x=case(), seed=st.integers(0, 99), value=st.sampled_from([0, 1.0, -2, float("-inf")]))
def test_masks(shim: ModuleType, x: Case, seed: int, value: Any) -> None:
    if value == float("-inf") and x.array.dtype.kind != "f":
        value = 0
    mask = np.random.default_rng(seed).integers(0, 2, x.make(np_world()).shape).astype(bool)
    compare(shim, lambda w, t: t.masked_fill(w.from_numpy(mask.copy()), value), [x])
    compare(shim, lambda w, t: t.masked_fill_(w.from_numpy(mask.copy()), value), [x])
    compare(shim, lambda w, t: t[w.from_numpy(mask.copy())], [x])
    compare(shim, lambda w, t: t.masked_select(w.from_numpy(mask.copy())), [x])
    compare(shim, lambda w, t: t.masked_fill(w.from_numpy(mask.copy()).long(), value), [x])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(size=st.integers(1, 90), k=st.integers(0, 91), largest=st.booleans(), seed=st.integers(0, 99))
def test_topk(shim: ModuleType, size: int, k: int, largest: bool, seed: int) -> None:
    x = Case(np.random.default_rng(seed).permutation(3 * size).reshape(3, size).astype(np.float32))
    compare(shim, lambda w, t: tuple(t.topk(k, largest=largest)), [x])
    compare(shim, lambda w, t: tuple(t[0].topk(k, dim=0, largest=largest)), [x])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    counts=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    bounds=st.lists(st.integers(-3, 9), min_size=2, max_size=3),
)
def test_counting(shim: ModuleType, counts: list[int], bounds: list[int]) -> None:
    compare(shim, lambda w: w.repeat_interleave(w.tensor(counts)), [])
    compare(shim, lambda w: w.arange(len(counts)).repeat_interleave(w.tensor(counts)), [])
    compare(shim, lambda w: w.arange(*bounds), [])
    compare(shim, lambda w: w.arange(*[b / 2 for b in bounds]), [])
    compare(shim, lambda w: w.arange(*bounds, dtype=w.int32), [])
    compare(shim, lambda w: w.full((2, 3), bounds[0]), [])
    compare(shim, lambda w: w.tensor(bounds).diff(), [])
    compare(shim, lambda w: w.tensor(sorted(bounds)).searchsorted(w.tensor(counts)) if False else
            w.searchsorted(w.tensor(sorted(bounds)), w.tensor(counts), right=True), [])  # fmt: skip


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    data=st.data(), a=st.integers(1, 4), b=st.integers(1, 4), c=st.integers(1, 4),
    dtype=st.sampled_from(["float32", "float64", "int64"]),
    other=st.sampled_from(["float32", "float64", "int64"]),
)  # fmt: skip
def test_products(
    shim: ModuleType, data: st.DataObject, a: int, b: int, c: int, dtype: str, other: str
) -> None:
    seed = data.draw(st.integers(0, 999))
    wrong = int(seed % 7 == 0)
    x, y = Case(values(dtype, (a, b), seed)), Case(values(other, (b + wrong, c), seed + 1))
    stack, row = Case(values(dtype, (2, a, b), seed)), Case(values(other, (b + wrong,), seed))
    compare(shim, lambda w, s, t: s @ t, [x, y])
    compare(shim, lambda w, s, t: w.matmul(s, t), [stack, y])
    compare(shim, lambda w, s, t: s @ t, [stack, row])
    compare(shim, lambda w, s, t: w.mm(s, t), [x, y])
    compare(shim, lambda w, s, t: w.bmm(s, t), [stack, Case(values(other, (2, b + wrong, c), seed))])
    compare(shim, lambda w, s, t: w.nn.functional.linear(s, t.mT if t.dim() > 1 else t), [x, y])
    if dtype == other and not wrong:
        compare(shim, lambda w, s, t: w.einsum("ij,jk->ik", s, t).contiguous(), [x, y])
        compare(shim, lambda w, s, t: w.einsum("hij,jk->hki", s, t).contiguous(), [stack, y])
