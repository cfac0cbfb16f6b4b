"""Frames over a pair of read and write functions, from inside the box."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from judge.sandbox import protocol

_WAITING = 1 << 16


class Closed(BaseException):
    """The judge has closed the channel. Not an Exception, so that few handlers of a learner's catch it."""


class Channel:
    """Blocking frames; every frame that leaves carries the next index."""

    def __init__(self, read: Callable[[int], bytes], write: Callable[[bytes], int]) -> None:
        self._read = read
        self._write = write
        self._index = 0
        self._waiting = b""

    @classmethod
    def of_fd(cls, fd: int) -> Channel:
        """Plain read and write on a descriptor: socket calls are not allowed in a box."""
        return cls(lambda count: os.read(fd, count), lambda data: os.write(fd, data))

    def receive(self) -> protocol.ToBox:
        """The judge's next frame. Raises Closed."""
        (length,) = protocol.HEADER.unpack(self.exactly(protocol.HEADER.size))
        return protocol.decode_to_box(self.exactly(length))

    def send(self, kind: type, *fields: Any) -> None:
        """Send ``kind(index, *fields)``, or word that it was too large.

        What a case emits waits for the next frame of another kind: fewer system calls, and fewer times that
        the judge is woken up.
        """
        try:
            data = protocol.encode(kind(self._index, *fields))
        except protocol.TooLarge:
            data = protocol.encode(protocol.Overflow(self._index))
        self._index += 1
        self._waiting += data
        if kind is not protocol.Emit or len(self._waiting) > _WAITING:
            data, self._waiting = self._waiting, b""
            self._all(data)

    def send_value(self, kind: type, value: Any, *fields: Any) -> None:
        """Send ``kind(index, packed value, *fields)``, or word that it was too large."""
        try:
            packed = protocol.pack(value)
        except protocol.TooLarge:
            self.send(protocol.Overflow)
        else:
            self.send(kind, packed, *fields)

    def exactly(self, count: int) -> bytes:
        """The next ``count`` bytes. Raises Closed."""
        parts = []
        while count:
            part = self._read(min(count, 1 << 20))
            if not part:
                raise Closed
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def _all(self, data: bytes) -> None:
        while data:
            data = data[self._write(data) :]
