"""Reading safetensors files with numpy alone: what minisgl asks of the library of that name.

bfloat16, which numpy does not have, is widened to float32: no bit of it is lost.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

__version__ = "0.0.0+minisgl"
_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2",
    "I8": "<i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "?",
}  # fmt: skip
_LONGEST_HEADER = 100_000_000


class SafetensorError(Exception):
    """A file is damaged, cut short, or holds what numpy cannot."""


class safe_open:
    """A file whose tensors are read one at a time. FileNotFoundError when there is none.

    Raises:
        SafetensorError: the file is damaged or incomplete; the message says how.
    """

    def __init__(self, filename: str | Path, framework: str = "pt", device: Any = "cpu") -> None:
        if framework not in ("pt", "pytorch", "torch", "np", "numpy"):
            raise SafetensorError(f"framework {framework!r} is not in the tab: torch and numpy are")
        self._as_torch = framework not in ("np", "numpy")
        self._path = Path(filename)
        if not self._path.is_file():
            raise FileNotFoundError(f"No such file or directory: {filename}")
        self._file: BinaryIO = self._path.open("rb")
        try:
            self._read_header()
        except BaseException:
            self._file.close()
            raise

    def _read_header(self) -> None:
        size = self._path.stat().st_size
        if size < 8:
            raise SafetensorError(f"Error while deserializing header: header too small ({size} bytes)")
        length = int.from_bytes(self._file.read(8), "little")
        if length > _LONGEST_HEADER:
            raise SafetensorError("Error while deserializing header: header too large")
        if 8 + length > size:
            raise SafetensorError("Error while deserializing header: invalid header length")
        try:
            header = json.loads(self._file.read(length).decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise SafetensorError(
                f"Error while deserializing header: invalid JSON in header: {error}"
            ) from error
        if not isinstance(header, dict):
            raise SafetensorError("Error while deserializing header: it is no object")
        metadata = header.pop("__metadata__", None)
        self._metadata: dict[str, str] | None = metadata
        self._start = 8 + length
        self._entries: dict[str, tuple[str, tuple[int, ...], int, int]] = {}
        for name, entry in header.items():
            self._entries[name] = self._checked(name, entry)
        self._check_covered(size - self._start)

    def _checked(self, name: str, entry: Any) -> tuple[str, tuple[int, ...], int, int]:
        try:
            kind, shape, (begin, end) = entry["dtype"], tuple(entry["shape"]), entry["data_offsets"]
            numbers = [begin, end, *shape]
            if not all(type(n) is int and n >= 0 for n in numbers) or not isinstance(kind, str):
                raise ValueError(f"unusable numbers {numbers}")
        except (KeyError, TypeError, ValueError) as error:
            raise SafetensorError(f"Error while deserializing header: entry of {name!r}: {error}") from error
        if kind in _DTYPES and end - begin != math.prod(shape) * np.dtype(_DTYPES[kind]).itemsize:
            raise SafetensorError(
                f"Error while deserializing header: {name!r} has {end - begin} bytes, which is not what"
                f" {kind} of shape {list(shape)} takes"
            )
        return kind, shape, begin, end

    def _check_covered(self, size: int) -> None:
        """Each byte of the data belongs to one tensor."""
        at = 0
        for name, (_, _, begin, end) in sorted(self._entries.items(), key=lambda item: item[1][2:]):
            if begin != at:
                raise SafetensorError(f"Error while deserializing header: invalid offset for tensor {name!r}")
            at = end
        if at != size:
            raise SafetensorError(
                "Error while deserializing header: incomplete metadata, file not fully covered: the tensors"
                f" take {at} bytes, the file has {size}"
            )

    def __enter__(self) -> safe_open:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._file.close()

    def keys(self) -> list[str]:
        return sorted(self._entries)

    def metadata(self) -> dict[str, str] | None:
        return self._metadata

    def get_tensor(self, name: str) -> Any:
        """One tensor, with memory of its own. SafetensorError when there is none of that name."""
        if name not in self._entries:
            raise SafetensorError(f"File does not contain tensor {name}")
        kind, shape, begin, end = self._entries[name]
        if kind not in _DTYPES:
            raise SafetensorError(f"{name} is {kind}, which is not in the tab")
        self._file.seek(self._start + begin)
        raw = bytearray(end - begin)
        if self._file.readinto(raw) != len(raw):  # type: ignore[attr-defined]
            raise SafetensorError(f"{name} is cut short")
        array = np.frombuffer(raw, _DTYPES[kind]).reshape(shape)
        if kind == "BF16":
            array = widened(array)
        if not self._as_torch:
            return array
        import torch

        return torch.from_numpy(array)


def widened(bits: np.ndarray) -> np.ndarray:
    """bfloat16, given as uint16, to float32: the upper half of its bits."""
    wide = bits.astype(np.uint32)
    wide <<= 16
    return wide.view(np.float32)
