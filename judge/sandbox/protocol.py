"""What judge and box say to each other: u32 length, then one msgpack frame of a closed set of types.

This module is on both sides, as are values.py and tensors.py, which say what values in frames may be.
Outside, whatever a box sends is hostile: every frame is decoded into strict types, its values are checked.
"""

from __future__ import annotations

import marshal
import struct
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from judge.sandbox.tensors import ITEM_BYTES, FrameError, TensorData, TooLarge
from judge.sandbox.values import (
    TENSOR_NODES,
    VALUES,
    Opaque,
    Tally,
    TooMany,
    arrived,
    delivered,
    pack,
    packed,
    unpack_inside,
    unpack_outside,
)

__all__ = [  # what both sides say about values, too
    "ITEM_BYTES", "TENSOR_NODES", "VALUES", "FrameError", "Opaque", "Tally", "TensorData", "TooLarge",
    "TooMany", "arrived", "delivered", "pack", "packed",
]  # fmt: skip

HEADER = struct.Struct("<I")
FRAME_BYTES = 1 << 20
TO_BOX_BYTES = 64 << 20
Name = Annotated[str, msgspec.Meta(max_length=200)]
Said = Annotated[str, msgspec.Meta(max_length=1_000)]
Shown = Annotated[str, msgspec.Meta(max_length=20_000)]


class Raised(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """An exception in the box: class name, message (cut), line of the learner's file or None."""

    name: Name
    message: Said = ""
    line: int | None = None


def out_of_memory(raised: Raised) -> bool:
    """Whether an allocation failed: Python's way of saying so, or torch's."""
    words = ("can't allocate memory", "not enough memory")
    return raised.name == "MemoryError" or any(word in raised.message for word in words)


class Parameter(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A parameter that the target is due to have; ``kind`` is the name of an ``inspect.Parameter.kind``."""

    name: str
    kind: str = "POSITIONAL_OR_KEYWORD"
    default: bool = False


# --- To the box -------------------------------------------------------------------------------


class Load(msgspec.Struct, tag="load", array_like=True):
    """Compile and run the learner's module, check that it defines the target."""

    source: bytes
    filename: str
    target: str
    kind: Literal["function", "class"]
    parameters: list[Parameter] | None
    members: list[str]
    seed: int


class RunCase(msgspec.Struct, tag="case", array_like=True):
    """Run ``drive(target, data, io)``; ``drive`` is what ``compiled`` makes of the source that defines it."""

    drive: bytes
    data: Any


class Reply(msgspec.Struct, tag="reply", array_like=True):
    """The answer to a ``Call``: a value, or an exception to raise, or ``over``: the case ends here."""

    value: Any
    raised: Raised | None = None
    over: bool = False


class RunSamples(msgspec.Struct, tag="samples", array_like=True):
    """Run every ``test_*(target)`` of this module; see ``Prepared`` in inside/samples.py."""

    code: bytes
    asserts: list[tuple[int, int, str]]
    filename: str


class RunEngine(msgspec.Struct, tag="engine", array_like=True):
    """Run the engine program of the bundle with the learner's function in it."""

    job: Any


class Finish(msgspec.Struct, tag="finish", array_like=True):
    """Say goodbye and exit with 0."""


ToBox = Load | RunCase | Reply | RunSamples | RunEngine | Finish

# --- From the box: the first field counts all frames, 0, 1, 2, ... ------------------------------


class Loaded(msgspec.Struct, tag="loaded", array_like=True, forbid_unknown_fields=True):
    """The target is there."""

    index: int


class Rejected(msgspec.Struct, tag="rejected", array_like=True, forbid_unknown_fields=True):
    """The module is not usable: CE or RE, and why (``reason`` is a key that the verdict's words hang on)."""

    index: int
    verdict: Literal["CE", "RE"]
    reason: Name
    raised: Raised
    stdout: Shown = ""


class Emit(msgspec.Struct, tag="emit", array_like=True, forbid_unknown_fields=True):
    """One value that the drive emits."""

    index: int
    value: Any


class Call(msgspec.Struct, tag="call", array_like=True, forbid_unknown_fields=True):
    """Asks the trusted object outside."""

    index: int
    name: str
    args: list[Any]


class Done(msgspec.Struct, tag="done", array_like=True, forbid_unknown_fields=True):
    """The case is over; ``notes`` are the exceptions that ``io.attempt`` caught."""

    index: int
    raised: Raised | None
    notes: list[Raised]


class Sample(msgspec.Struct, tag="sample", array_like=True, forbid_unknown_fields=True):
    """The outcome of one sample test."""

    index: int
    name: Name
    ok: bool
    line: int | None
    assertion: Shown
    expected: Shown
    got: Shown
    message: Shown
    stdout: Shown
    raised_line: int | None = None


class Progress(msgspec.Struct, tag="progress", array_like=True, forbid_unknown_fields=True):
    """One event of the engine program."""

    index: int
    value: Any


class Result(msgspec.Struct, tag="result", array_like=True, forbid_unknown_fields=True):
    """What the engine program returns, or the exception it ended with."""

    index: int
    value: Any
    raised: Raised | None


class Overflow(msgspec.Struct, tag="overflow", array_like=True, forbid_unknown_fields=True):
    """A value was too large to send."""

    index: int


class End(msgspec.Struct, tag="end", array_like=True, forbid_unknown_fields=True):
    """The last frame."""

    index: int


FromBox = Loaded | Rejected | Emit | Call | Done | Sample | Progress | Result | Overflow | End


@lru_cache(maxsize=64)
def compiled(source: str, filename: str) -> bytes:
    """Code of ours for a box, which runs the same Python: compiled once, and in no box."""
    return marshal.dumps(compile(source, filename, "exec", dont_inherit=True))


def encode(frame: Any, limit: int = FRAME_BYTES) -> bytes:
    """Length and body. Raises TooLarge."""
    body = _encoder.encode(frame)
    if len(body) > limit:
        raise TooLarge(f"a frame of {len(body)} bytes")
    return HEADER.pack(len(body)) + body


def decode_from_box(body: bytes | memoryview, tally: Tally | None = None) -> FromBox:
    """A frame of the box, its values checked and added to the box's tally. Raises FrameError, TooMany."""
    tally = tally or Tally()
    try:
        frame = _from_box.decode(body)
        for field in ("value", "args"):
            if hasattr(frame, field):
                tally.add(getattr(frame, field))
    except FrameError:
        raise
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise FrameError(str(error)[:200]) from None
    return frame


def decode_to_box(body: bytes | memoryview) -> ToBox:
    """A frame of the judge."""
    return _to_box.decode(body)


_encoder = msgspec.msgpack.Encoder()
_from_box: msgspec.msgpack.Decoder[FromBox] = msgspec.msgpack.Decoder(FromBox, ext_hook=unpack_outside)
_to_box: msgspec.msgpack.Decoder[ToBox] = msgspec.msgpack.Decoder(ToBox, ext_hook=unpack_inside)
