"""Values on the wire: what may travel, in which form, and how what arrives is checked.

Plain data travels as msgpack has it, floats as float64 bits, tensors as dtype, shape and raw bytes. Outside,
whatever a box sends is hostile: type, depth and number are checked before anybody looks at a value, and no
class of the box's choosing is ever built.
"""

from __future__ import annotations

import sys
from typing import Any

import msgspec

from judge.sandbox.tensors import FrameError, TensorData, TooLarge, plain

DEPTH = 32
NODES = 200_000
VALUES = 1_000_000
TENSOR_NODES = 16
"""Bytes are cheap to send, objects dear to hold: all values of a box count, and a tensor counts for many."""
TEXT = 65_536
_EXT_TENSOR = 1
_EXT_OPAQUE = 2


class TooMany(FrameError):
    """The values of all frames together are over the limit."""


class Opaque(msgspec.Struct, frozen=True, array_like=True):
    """Stands for a value that cannot travel, say a set or a numpy scalar. Equal to nothing."""

    what: str

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__


def pack(value: Any) -> Any:
    """Plain data for msgpack; tensors become extensions, what cannot travel becomes ``Opaque``."""
    return _Packer().walk(value, 0)


def packed(value: Any) -> msgspec.Raw:
    """``value`` as bytes, ready to be put into a frame."""
    return msgspec.Raw(_encoder.encode(pack(value)))


def delivered(body: msgspec.Raw) -> Any:
    """What a box makes of ``packed`` bytes: a copy, with real tensors."""
    return _inside_decoder.decode(body)


def arrived(value: Any) -> Any:
    """``value`` as the judge would see it, came it from a box: tensors are TensorData."""
    return _Arrived().walk(value, 0)


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
        if kind is TensorData:
            return self.tensor(value)
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(value, torch.Tensor):
            data = plain(torch, value)
            return self.opaque(data) if isinstance(data, str) else self.tensor(data)
        if isinstance(value, Opaque):
            return self.opaque(value.what)
        return self.opaque(f"{kind.__module__}.{kind.__qualname__}")

    def opaque(self, what: str) -> Any:
        """The form of a value that cannot travel."""
        return msgspec.msgpack.Ext(_EXT_OPAQUE, _cut(what))

    def tensor(self, data: TensorData) -> Any:
        """The form of a tensor."""
        return msgspec.msgpack.Ext(_EXT_TENSOR, data.encode())


class _Arrived(_Packer):
    """Turns values into what the judge makes of them."""

    def opaque(self, what: str) -> Any:
        return Opaque(str(_cut(what), "utf-8", "replace"))

    def tensor(self, data: TensorData) -> Any:
        return data


_SMALL = {bool, float, int, str, type(None)}


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
        elif kind is TensorData:
            self.nodes += TENSOR_NODES
        elif not (value is None or kind is bool or kind is float or kind is Opaque):
            raise FrameError(f"a {kind.__name__} does not travel")


def _all_small(items: list[Any] | tuple[Any, ...]) -> bool:
    """Whether all are None, bools, floats, ints of 64 bits or short ASCII: most lists are, and go quicker."""
    kinds = set(map(type, items))
    if not kinds <= _SMALL:
        return False
    if str in kinds and not all(item.isascii() and len(item) <= TEXT for item in items if type(item) is str):
        return False
    if int not in kinds:
        return True
    numbers = items if len(kinds) == 1 else [item for item in items if type(item) is int]
    return min(numbers) >= -(1 << 63) and max(numbers) < 1 << 63


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


def unpack_outside(code: int, data: memoryview) -> Any:
    """An extension as the judge keeps it. Raises FrameError."""
    if code == _EXT_TENSOR:
        return TensorData.decode(data)
    if code != _EXT_OPAQUE:
        raise FrameError(f"unknown extension {code}")
    return Opaque(str(data, "utf-8", "replace")[:200])


def unpack_inside(code: int, data: memoryview) -> Any:
    """An extension as a box gets it. Raises FrameError."""
    value = unpack_outside(code, data)
    return value.torch() if type(value) is TensorData else value


_encoder = msgspec.msgpack.Encoder()
_inside_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(Any, ext_hook=unpack_inside)
