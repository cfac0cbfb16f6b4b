"""Queues between processes: ZeroMQ sockets that carry messages as MessagePack.

Push and pull: each message goes to one receiver, in the sender's order. Publish and subscribe: each goes to
all that have subscribed, and to nobody else, so a publisher waits for its subscribers first.

One end of an address creates (binds) it and the others connect, in either order; what is pushed before the
other end is there waits. Queues have no limit (with one, a publisher would drop messages): whoever lets
requests in must bound them.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec
import zmq
import zmq.asyncio

from . import trace

T = TypeVar("T")
_LINGER_MS = 1000  # how long a closing queue still tries to deliver
_LONGEST_FOLDER = 80


def private_folder() -> Path:
    """A new folder that only this user may enter, for ipc:// addresses (of at most 107 bytes)."""
    folder = Path(tempfile.mkdtemp(prefix="minisgl-"))
    if len(os.fsencode(folder)) > _LONGEST_FOLDER:
        folder.rmdir()
        folder = Path(tempfile.mkdtemp(prefix="minisgl-", dir="/tmp"))
    return folder


def pack(data: Any) -> bytes:
    """Plain data as MessagePack. ValueError when an integer in it needs more than 64 bits."""
    try:
        return msgspec.msgpack.encode(data)
    except OverflowError as error:
        raise ValueError(f"a message cannot hold such a large integer: {error}") from None


def unpack(raw: bytes) -> Any:
    """Plain data from untrusted MessagePack. ValueError when it is damaged."""
    try:
        return msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"a message of {len(raw)} bytes cannot be read: {error}") from None


def open_socket(context: zmq.Context, kind: int, address: str, create: bool) -> Any:
    """A socket of `context`, bound to the address or connected to it.

    Raises:
        OSError: the address is taken or malformed; the message names it.
    """
    socket = context.socket(kind)
    socket.setsockopt(zmq.LINGER, _LINGER_MS)
    socket.setsockopt(zmq.SNDHWM, 0)
    socket.setsockopt(zmq.RCVHWM, 0)
    if kind == zmq.XPUB:  # report every subscriber that comes or goes: by default only the first and the last
        socket.setsockopt(zmq.XPUB_VERBOSER, 1)
    try:
        if create:
            socket.bind(address)
        else:
            socket.connect(address)
    except zmq.ZMQError as error:
        socket.close(linger=0)
        raise OSError(f"cannot {'create' if create else 'use'} the queue {address}: {error}") from error
    return socket


def uids_of(obj: object) -> list[int]:
    """The requests that a message is about; some messages are several in one."""
    parts = getattr(obj, "data", None)
    found = [uid for part in parts for uid in uids_of(part)] if isinstance(parts, list) else []
    uid = getattr(obj, "uid", None)
    return [*found, uid] if isinstance(uid, int) else found


class _Sender(Generic[T]):
    kind: int

    def __init__(self, address: str, create: bool, encoder: Callable[[T], Any]) -> None:
        self._encoder = encoder
        self._target = address.rpartition("/")[2]
        self._context = zmq.Context()
        self._socket = open_socket(self._context, self.kind, address, create)

    def put(self, obj: T) -> None:
        """Send a message. ValueError when it cannot be serialized."""
        raw = pack(self._encoder(obj))
        if trace.active() is not None:
            kind, uids = type(obj).__name__, uids_of(obj)
            trace.emit("message", kind=kind, bytes=len(raw), target=self._target, uids=uids)
        self.put_raw(raw)

    def put_raw(self, raw: bytes) -> None:
        """Send bytes that `get_raw` of another queue has returned: nothing is encoded twice."""
        self._socket.send(raw)

    def stop(self) -> None:
        """Close; what was sent is still delivered, unless nobody takes it within a second."""
        self._socket.close()
        self._context.term()


class _Receiver(Generic[T]):
    kind: int

    def __init__(self, address: str, create: bool, decoder: Callable[[Any], T]) -> None:
        self._decoder = decoder
        self._context = zmq.Context()
        self._socket = open_socket(self._context, self.kind, address, create)
        if self.kind == zmq.SUB:
            self._socket.setsockopt(zmq.SUBSCRIBE, b"")

    def get(self) -> T:
        """The next message, waited for. ValueError when it is damaged."""
        return self.decode(self.get_raw())

    def get_raw(self) -> bytes:
        """The next message as bytes, waited for."""
        raw: bytes = self._socket.recv()
        return raw

    def decode(self, raw: bytes) -> T:
        """The message in untrusted bytes. ValueError when they are damaged or name an unknown type."""
        return self._decoder(unpack(raw))

    def empty(self, timeout: float = 0.0) -> bool:
        """Whether no message has arrived, nor does within `timeout` seconds."""
        return not self._socket.poll(round(timeout * 1000))

    def stop(self) -> None:
        """Close."""
        self._socket.close(linger=0)
        self._context.term()


class ZmqPushQueue(_Sender[T]):
    """Each message goes to one of the pull queues at the address."""

    kind = zmq.PUSH


class ZmqPullQueue(_Receiver[T]):
    """Receives from all push queues at the address."""

    kind = zmq.PULL


class ZmqPubQueue(_Sender[T]):
    """Each message goes to every subscriber; the publisher can see who subscribes (XPUB)."""

    kind = zmq.XPUB

    def get_subscription(self, timeout: float | None = None) -> bytes:
        """The next subscriber's frame, waited for: b"\\x01" joins, b"\\x00" leaves.

        Raises:
            TimeoutError: none came within `timeout` seconds.
        """
        if timeout is not None and not self._socket.poll(round(timeout * 1000)):
            raise TimeoutError(f"no subscriber came or went within {timeout} seconds")
        raw: bytes = self._socket.recv()
        return raw


class ZmqSubQueue(_Receiver[T]):
    """Receives all that is published at the address from its subscription on."""

    kind = zmq.SUB


class ZmqAsyncPullQueue(Generic[T]):
    """`ZmqPullQueue` for an event loop."""

    def __init__(self, address: str, create: bool, decoder: Callable[[Any], T]) -> None:
        self._decoder = decoder
        self._context = zmq.asyncio.Context()
        self._socket = open_socket(self._context, zmq.PULL, address, create)

    async def get(self) -> T:
        """The next message, waited for. ValueError when it is damaged."""
        return self._decoder(unpack(await self._socket.recv()))

    def stop(self) -> None:
        """Close."""
        self._socket.close(linger=0)
        self._context.term()
