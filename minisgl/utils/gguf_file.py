"""Reading GGUF, the single-file format of llama.cpp.

https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The package gguf knows the quantizations and does
that part. Its reader is not used: it takes 15 s for the metadata of a vocabulary of 49,152, and believes what
lengths a file states.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import torch

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_PLAIN = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}  # as torch has them
_CHUNK = 2**24  # numbers dequantized at a time


@dataclass(frozen=True)
class GGUFTensor:
    """Where a tensor is in its file."""

    shape: tuple[int, ...]  # as torch writes it: rows first
    kind: str  # "F32", "Q8_0", ...
    start: int  # in the file, bytes
    nbytes: int


@dataclass
class GGUFFile:
    """An open file: its metadata, and its tensors to read.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is no GGUF file, cut short, or of a kind that is not supported.
    """

    path: Path
    fields: dict[str, Any] = field(init=False)  # metadata, such as "llama.block_count"
    tensors: dict[str, GGUFTensor] = field(init=False)

    def __post_init__(self) -> None:
        with self.path.open("rb") as file:
            try:
                # Private, so that torch may have it: what would be written stays in memory.
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            except ValueError:  # an empty file cannot be mapped
                raise ValueError(f"{self.path} is empty") from None
        try:
            self._parse(_Header(self._data))
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{self.path} is damaged or not supported: {error}") from error

    def read(self, name: str, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
        """A tensor. A quantized one becomes `dtype`, piece by piece; others are as they are stored.

        On the CPU an unquantized one is a view of the file.

        Raises:
            ValueError: the package gguf cannot dequantize it.
        """
        info = self.tensors[name]
        if info.kind in _PLAIN:
            plain = torch.frombuffer(
                self._data, dtype=_PLAIN[info.kind], count=prod(info.shape), offset=info.start
            )
            return plain.view(info.shape).to(device)
        from gguf import GGMLQuantizationType
        from gguf.quants import dequantize

        kind, row = GGMLQuantizationType[info.kind], info.shape[-1]
        data = np.frombuffer(self._data, np.uint8, info.nbytes, info.start)
        rows = data.reshape(prod(info.shape[:-1]), -1)
        result = torch.empty((len(rows), row), dtype=dtype, device=device)
        step = max(1, _CHUNK // row)
        for start in range(0, len(rows), step):
            try:
                values = dequantize(rows[start : start + step], kind)
            except NotImplementedError:
                raise ValueError(
                    f"{self.path}: {name} is {info.kind}, which cannot be dequantized: take another file"
                ) from None
            result[start : start + step] = torch.from_numpy(np.ascontiguousarray(values, np.float32))
        return result.view(info.shape)

    def _parse(self, header: _Header) -> None:
        if bytes(header.take(4)) != b"GGUF":
            raise ValueError("it does not begin as a GGUF file does")
        version = header.scalar("I")
        if version not in (2, 3):
            raise ValueError(f"version {version} of the format, only 2 and 3 are known")
        num_tensors, num_fields = header.scalar("Q"), header.scalar("Q")
        self.fields = {header.string(): header.value() for _ in range(num_fields)}
        infos = [
            (header.string(), header.shape(), header.scalar("I"), header.scalar("Q"))
            for _ in range(num_tensors)
        ]
        alignment = self.fields.get("general.alignment", 32)
        if type(alignment) is not int or alignment < 8 or alignment % 8:
            raise ValueError(f"general.alignment is {alignment!r}")
        base = -(-header.position // alignment) * alignment
        self.tensors = {}
        for name, shape, kind, offset in infos:
            tensor = _locate(name, shape, kind, base + offset)
            if tensor.start + tensor.nbytes > len(self._data):
                raise ValueError(f"it is cut short: {name} would end behind its end")
            if name in self.tensors:
                raise ValueError(f"it holds {name} twice")
            self.tensors[name] = tensor


class _Header:
    """The bytes in front of the tensors, read from the start."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = memoryview(data)
        self.position = 0

    def take(self, length: int) -> memoryview:
        end = self.position + length
        if end > len(self._data):
            raise ValueError("it is cut short within its metadata")
        start, self.position = self.position, end
        return self._data[start:end]

    def scalar(self, form: str) -> Any:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def string(self) -> str:
        return str(self.take(self.scalar("Q")), "utf-8")

    def shape(self) -> tuple[int, ...]:
        count = self.scalar("I")
        if not 1 <= count <= 4:
            raise ValueError(f"a tensor has {count} dimensions")
        return struct.unpack(f"<{count}Q", self.take(8 * count))[::-1]

    def value(self) -> Any:
        kind = self.scalar("I")
        if kind != _ARRAY:
            return self._reader(kind)()
        kind, count = self.scalar("I"), self.scalar("Q")
        if kind in _SCALARS:
            form = _SCALARS[kind]
            return list(struct.unpack(f"<{count}{form}", self.take(count * struct.calcsize("<" + form))))
        read = self._reader(kind)
        return [read() for _ in range(count)]

    def _reader(self, kind: int) -> Callable[[], Any]:
        if kind == _STRING:
            return self.string
        if kind not in _SCALARS:
            raise ValueError(f"a value of its metadata has the unknown type {kind}")
        return lambda: self.scalar(_SCALARS[kind])


def _locate(name: str, shape: tuple[int, ...], number: int, start: int) -> GGUFTensor:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    try:
        kind = GGMLQuantizationType(number)
    except ValueError:
        raise ValueError(f"{name} has the unknown quantization {number}") from None
    block, nbytes = GGML_QUANT_SIZES[kind]
    if 0 in shape or shape[-1] % block:
        raise ValueError(f"{name} has the shape {shape}, which {kind.name} cannot have")
    return GGUFTensor(shape, kind.name, start, prod(shape) // block * nbytes)
