"""Fork on request, tell the judge which process it is, and later how it ended."""

from __future__ import annotations

import array
import json
import os
import select
import signal
import socket
import struct
from typing import Any

from judge.sandbox import syscalls as sys_

_MESSAGE = 65536
_FDS = 3
EXIT = struct.Struct("<ciddq")
"""When a process has ended: b"E", wait status, user and system seconds, peak memory (KB)."""
PID = b"P"
GO = b"G"
FAILED = b"X"


class Order:
    """A request, seen from the process that was forked for it."""

    def __init__(self, options: dict[str, Any], fds: list[int], shared: dict[str, Any]) -> None:
        self.options = options
        self.fds = fds
        self.shared = shared

    def wait_for_go(self) -> None:
        """Block until the judge has put this process where it belongs."""
        if os.read(self.fds[-1], 1) != GO:
            os._exit(4)

    def fail(self, text: str) -> None:
        """Tell the judge that the sandbox itself failed."""
        os.write(self.fds[-1], FAILED + text.encode("utf-8", "replace")[:2000])

    @staticmethod
    def read_json(fd: int) -> Any:
        """All of a memory file."""
        with open(fd, "rb") as file:
            file.seek(0)
            return json.load(file)


class Forker:
    """Serves fork requests that arrive on a control socket: JSON and descriptors, the last one the control
    socket of the new process. ``"namespace": true`` asks for a process namespace of its own.
    """

    def __init__(self, control: int) -> None:
        self._control = socket.socket(fileno=control)
        self._children: dict[int, tuple[int, socket.socket]] = {}
        self._own_namespace = -1

    def tell(self, facts: dict[str, Any]) -> None:
        """Tell the judge something about this process itself."""
        self._control.send(json.dumps(facts).encode())

    def close(self) -> None:
        """Let go of the control socket."""
        self._control.close()

    def serve(self, shared: dict[str, Any], *, linger: bool) -> Order:
        """Fork for every request; returns in the forked process alone.

        Exits when the judge hangs up; with ``linger`` not before the children have ended.
        """
        self._own_namespace = os.pidfd_open(os.getpid())
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        hung_up = False
        while not hung_up or (linger and self._children):
            for fd, _ in poll.poll():
                if fd != self._control.fileno():
                    poll.unregister(fd)
                    self._ended(fd)
                    continue
                request = self._request()
                if request is None:
                    poll.unregister(fd)
                    hung_up = True
                    continue
                order, handle = self._fork(*request, shared)
                if order is not None:
                    return order
                poll.register(handle, select.POLLIN)
        os._exit(0)

    def _request(self) -> tuple[dict[str, Any], list[int]] | None:
        message, ancillary, _, _ = self._control.recvmsg(_MESSAGE, socket.CMSG_SPACE(4 * _FDS))
        if not message:
            return None
        fds = array.array("i")
        for _, _, data in ancillary:
            fds.frombytes(data[: len(data) - len(data) % fds.itemsize])
        return json.loads(message), list(fds)

    def _fork(
        self, options: dict[str, Any], fds: list[int], shared: dict[str, Any]
    ) -> tuple[Order | None, int]:
        if options["namespace"]:
            sys_.unshare(sys_.CLONE_NEWPID)
        pid = os.fork()
        if pid == 0:
            self._forget()
            return Order(options, fds, shared), -1
        if options["namespace"]:
            sys_.setns(self._own_namespace, sys_.CLONE_NEWPID)
        handle = os.pidfd_open(pid)
        control = socket.socket(fileno=fds.pop())
        for fd in fds:
            os.close(fd)
        try:
            socket.send_fds(control, [PID], [handle])
        except OSError:  # the judge has given up on it
            os.kill(pid, signal.SIGKILL)
        self._children[handle] = (pid, control)
        return None, handle

    def _forget(self) -> None:
        """In the forked process: none of the parent's descriptors and children are its business."""
        self._control.close()
        os.close(self._own_namespace)
        for handle, (_, control) in self._children.items():
            os.close(handle)
            control.close()
        self._children.clear()

    def _ended(self, handle: int) -> None:
        pid, control = self._children.pop(handle)
        os.close(handle)
        try:
            _, status, usage = os.wait4(pid, 0)
            control.send(EXIT.pack(b"E", status, usage.ru_utime, usage.ru_stime, usage.ru_maxrss))
        except OSError:  # nobody waits for it any more, or the kernel has reaped it already
            return
        finally:
            control.close()
