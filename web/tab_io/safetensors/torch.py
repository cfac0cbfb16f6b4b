"""Whole files of tensors at once, read and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from . import safe_open

_NAMES = {
    "f8": "F64", "f4": "F32", "f2": "F16", "i8": "I64", "i4": "I32", "i2": "I16", "i1": "I8", "u8": "U64",
    "u4": "U32", "u2": "U16", "u1": "U8", "b1": "BOOL",
}  # fmt: skip


def load_file(filename: str | Path, device: Any = "cpu") -> dict[str, Any]:
    with safe_open(filename, framework="pt", device=device) as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no dict


def save(tensors: dict[str, Any], metadata: dict[str, str] | None = None) -> bytes:
    header: dict[str, Any] = {} if metadata is None else {"__metadata__": metadata}
    parts: list[bytes] = []
    at = 0
    arrays = {name: np.ascontiguousarray(tensor.numpy()) for name, tensor in tensors.items()}
    # the widest first, so that each is aligned; then by name
    for name, array in sorted(arrays.items(), key=lambda item: (-item[1].dtype.itemsize, item[0])):
        kind = _NAMES[array.dtype.str[1:]]
        shape = list(tensors[name].shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + array.nbytes]}
        parts.append(array.tobytes())
        at += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *parts])


def save_file(tensors: dict[str, Any], filename: str | Path, metadata: dict[str, str] | None = None) -> None:
    Path(filename).write_bytes(save(tensors, metadata))
