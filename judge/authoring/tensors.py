"""Tensors as hidden modules write and read them: plain data, without torch."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeGuard

from judge.sandbox.tensors import ITEM_BYTES, TensorData

INT32_BYTES = ITEM_BYTES["int32"]


def int32(values: Iterable[int]) -> TensorData:
    """A tensor [n]."""
    data = array("i", values)
    return TensorData("int32", [len(data)], data.tobytes())


def float32(values: Iterable[float], shape: Sequence[int]) -> TensorData:
    """A tensor of this shape, its values in row order, rounded to float32."""
    return TensorData("float32", list(shape), array("f", values).tobytes())


def bfloat16(values: Iterable[float], shape: Sequence[int]) -> TensorData:
    """The same in bfloat16, cut off: the two upper bytes of each float32."""
    raw = array("f", values).tobytes()
    return TensorData("bfloat16", list(shape), b"".join(raw[i + 2 : i + 4] for i in range(0, len(raw), 4)))


def int32_raw(raw: bytes) -> TensorData:
    """A tensor [n] of these bytes."""
    return TensorData("int32", [len(raw) // INT32_BYTES], raw)


def int32_rows(rows: Sequence[Sequence[int]]) -> TensorData:
    """A tensor [rows, columns] of rows that are equally long."""
    return TensorData("int32", [len(rows), len(rows[0])], array("i", chain.from_iterable(rows)).tobytes())


def is_int32(value: Any, dimensions: int) -> TypeGuard[TensorData]:
    """Whether ``value`` is an int32 tensor with this number of dimensions."""
    return isinstance(value, TensorData) and value.dtype == "int32" and len(value.shape) == dimensions
