"""Values on the wire: what may travel, in which form, and how what arrives is checked.

Plain data travels as msgpack has it, floats as float64 bits, tensors as dtype, shape and raw bytes. Outside,
whatever a box sends is hostile: type, depth and number are checked before anybody looks at a value, and no
class of the box's choosing is ever built.
"""

from __future__ import annotations

import sys
from typing import Any, Literal

import msgspec

DEPTH = 32
NODES = 200_000
VALUES = 1_000_000
TENSOR_NODES = 16
"""Bytes are cheap to send, objects dear to hold: all values of a box count, and a tensor counts for many."""
TEXT = 65_536
TENSOR_BYTES = 64 << 20
DIMENSIONS = 8
DIMENSION = 1 << 24

DTypeName = Literal[
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"
]
ITEM_BYTES: dict[str, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
_EXT_TENSOR = 1
_EXT_OPAQUE = 2


class FrameError(ValueError):
    """The bytes are no frame of this protocol."""


class TooMany(FrameError):
    """The values of all frames together are over the limit."""


class TooLarge(ValueError):
    """A frame or value is over the limits of this protocol."""


class Opaque(msgspec.Struct, frozen=True, array_like=True):
    """Stands for a value that cannot travel, say a set or a numpy scalar. Equal to nothing."""

    what: str

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__


class _Tensor(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    dtype: DTypeName
    shape: list[int]
    raw: bytearray


def pack(value: Any) -> Any:
    """Plain data for msgpack; tensors become extensions, what cannot travel becomes ``Opaque``."""
    return _Packer().walk(value, 0)


def check(value: Any) -> Any:
    """``value`` as it came off the wire. Raises FrameError for a type, depth or number out of bounds."""
    _Checker().walk(value, 0)
    return value


def roundtrip(value: Any) -> Any:
    """``value`` as the other side would see it: encoded, decoded and checked."""
    body = _encoder.encode(pack(value))
    return check(_any_decoder.decode(body))


def arrived(value: Any) -> Any:
    """The same without the bytes, for values of our own: what is expected takes the form of what comes."""
    return _Copier().walk(value, 0)


class Tally:
    """How many values a box has sent in all."""

    def __init__(self) -> None:
        self.values = 0

    def add(self, value: Any) -> None:
        """Check a value and count what is in it. Raises FrameError, TooMany."""
        checker = _Checker()
        checker.walk(value, 0)
        self.values += checker.nodes
        if self.values > VALUES:
            raise TooMany(f"more than {VALUES} values")


class _Packer:
    """Turns values into plain data, counting nodes so that a cycle or a giant ends early."""

    def __init__(self) -> None:
        self.nodes = 0

    def walk(self, value: Any, depth: int) -> Any:
        self.nodes += 1
        if self.nodes > NODES:
            raise TooLarge("too many values")
        kind = type(value)
        if kind is int:
            return value if -(1 << 63) <= value < 1 << 63 else self.opaque("an int of more than 64 bits")
        if value is None or kind is bool or kind is float:
            return value
        if kind is str:
            fault = _fault(value)
            return value if fault is None else self.opaque(fault)
        if isinstance(value, (list, tuple)):
            if depth >= DEPTH:
                return self.opaque("nested too deeply")
            if _all_small(value):
                self.nodes += len(value)
                return list(value)
            return [self.walk(item, depth + 1) for item in value]
        if isinstance(value, dict):
            if depth >= DEPTH:
                return self.opaque("nested too deeply")
            if any(type(key) is not str or _fault(key) is not None for key in value):
                return self.opaque("a dict whose keys are not all str")
            return {key: self.walk(item, depth + 1) for key, item in value.items()}
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            # A subclass may lie in whatever it overrides: only the base class's own methods look at the data.
            with torch._C.DisableTorchFunctionSubclass():
                plain = _plain(torch, value)
                return self.opaque(plain) if isinstance(plain, str) else self.tensor(torch, plain)
        if isinstance(value, Opaque):
            return self.opaque(value.what)
        return self.opaque(f"{kind.__module__}.{kind.__qualname__}")

    def opaque(self, what: str) -> Any:
        """The form of a value that cannot travel."""
        return msgspec.msgpack.Ext(_EXT_OPAQUE, _cut(what))

    def tensor(self, torch: Any, plain: Any) -> Any:
        """The form of a tensor."""
        dtype, shape = _dtype(plain), list(plain.shape)
        if dtype == "bfloat16":  # numpy has none
            plain = plain.view(torch.int16)
        body = _encoder.encode((dtype, shape, plain.numpy().tobytes()))
        return msgspec.msgpack.Ext(_EXT_TENSOR, body)


class _Copier(_Packer):
    """Turns values into what the other side makes of them."""

    def opaque(self, what: str) -> Any:
        return Opaque(str(_cut(what), "utf-8", "replace"))

    def tensor(self, torch: Any, plain: Any) -> Any:
        return plain.clone(memory_format=torch.contiguous_format)


class _Checker:
    def __init__(self) -> None:
        self.nodes = 0

    def walk(self, value: Any, depth: int) -> None:
        self.nodes += 1
        if self.nodes > NODES or depth > DEPTH:
            raise FrameError("too many values, or nested too deeply")
        kind = type(value)
        if kind is list:
            if _all_small(value):
                self.nodes += len(value)
                return
            for item in value:
                self.walk(item, depth + 1)
        elif kind is dict:
            for key, item in value.items():
                if type(key) is not str:
                    raise FrameError("a key that is not a str")
                self.walk(item, depth + 1)
        elif kind is int:
            if value >= 1 << 63:
                raise FrameError("an int of more than 64 bits")
        elif kind is str:
            if len(value) > TEXT:
                raise FrameError("a str too long")
        elif _is_tensor(value):
            self.nodes += TENSOR_NODES
        elif not (value is None or kind is bool or kind is float or kind is Opaque):
            raise FrameError(f"a {kind.__name__} does not travel")


def _all_small(items: list[Any] | tuple[Any, ...]) -> bool:
    """Whether all are ints of 64 bits, or all floats or bools: long lists of these are worth a short cut."""
    kinds = set(map(type, items))
    if kinds == {int}:
        return min(items) >= -(1 << 63) and max(items) < 1 << 63
    return kinds == {float} or kinds == {bool}


def _cut(what: str) -> bytes:
    return what.encode("utf-8", "replace")[:200]


def _fault(text: str) -> str | None:
    """Why a str cannot travel; None when it can."""
    if len(text) > TEXT:
        return "a str of more than 65536 characters"
    try:
        text.encode()
    except UnicodeEncodeError:
        return "a str that is not valid Unicode"
    return None


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and type(value) is torch.Tensor


def _plain(torch: Any, tensor: Any) -> Any:
    """The tensor without class, graph and device, or why it cannot travel. Raises TooLarge."""
    if type(tensor) is not torch.Tensor:
        try:
            tensor = torch.Tensor.as_subclass(tensor, torch.Tensor)
        except RuntimeError:  # sparse and the like
            return "a tensor without plain storage"
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        return f"a tensor on {tensor.device.type}, {tensor.layout}"
    dtype = _dtype(tensor)
    if dtype not in ITEM_BYTES:
        return f"a tensor of {dtype}"
    if tensor.numel() * ITEM_BYTES[dtype] > TENSOR_BYTES:
        raise TooLarge("a tensor too large to send")
    return tensor.detach().cpu().resolve_neg()


def _dtype(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def unpack_ext(code: int, data: memoryview) -> Any:
    if code == _EXT_OPAQUE:
        return Opaque(str(data, "utf-8", "replace")[:200])
    if code != _EXT_TENSOR:
        raise FrameError(f"unknown extension {code}")
    parts = _tensor_decoder.decode(data)
    if len(parts.shape) > DIMENSIONS or any(not 0 <= size <= DIMENSION for size in parts.shape):
        raise FrameError("a shape out of bounds")
    count = 1
    for size in parts.shape:
        count *= size
    if count * ITEM_BYTES[parts.dtype] != len(parts.raw):
        raise FrameError("shape and bytes of a tensor do not agree")
    import torch

    dtype = getattr(torch, parts.dtype)
    if not count:
        return torch.empty(parts.shape, dtype=dtype)
    if parts.dtype == "bool" and parts.raw.strip(b"\0\1"):
        raise FrameError("a bool tensor holds a byte that is neither 0 nor 1")
    return torch.frombuffer(parts.raw, dtype=dtype).view(parts.shape)


_encoder = msgspec.msgpack.Encoder()
_tensor_decoder = msgspec.msgpack.Decoder(_Tensor)
_any_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Any, ext_hook=unpack_ext)
