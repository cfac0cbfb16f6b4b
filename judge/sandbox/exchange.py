"""The exchange of frames with one box, from the outside: limits are kept and its end is explained here.

Nothing here trusts the box. Its frames are decoded in protocol.py; whatever breaks a rule ends it.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, NoReturn, Self

from judge.sandbox import protocol
from judge.sandbox.limits import Limits, Stopped, Usage
from judge.sandbox.process import Process, explain
from judge.types import Verdict

_READ = 1 << 17
_GRACE_S = 5.0
_STEP_S = 0.05
_CORES = os.cpu_count() or 1


class Exchange:
    """A context manager; leaving it ends the process, however far the work got. For one thread."""

    def __init__(self, process: Process, limits: Limits, release: Callable[[], None]) -> None:
        self._process = process
        self._limits = limits
        self._release = release
        self._incoming = bytearray()
        self._outgoing = memoryview(b"")
        self._printed = bytearray()
        self._received = 0
        self._tally = protocol.Tally()
        self._index = 0
        self._closed = False
        self._ending = threading.Lock()
        self._poll = select.poll()
        self._poll.register(process.frames, select.POLLIN)
        self._wanted = select.POLLIN
        self._cpu_due = 0.0
        if process.stdout >= 0:
            self._poll.register(process.stdout, select.POLLIN)
        self.wall_s = 0.0
        """Seconds the judge has waited for this box so far."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the process if it still runs, and give everything back."""
        with self._ending:
            if self._closed:
                return
            self._closed = True
        try:
            self._process.kill()
            self._process.reap(_GRACE_S)
            self._process.close()
        finally:
            self._release()

    def kill(self) -> None:
        """End the process, from whatever thread: the one that waits for the box gets Stopped."""
        with self._ending:  # never by a descriptor that is closed and means another process by now
            if not self._closed:
                self._process.kill()

    @property
    def cpu_s(self) -> float:
        """CPU seconds of the box so far, by the kernel's clock; 0.0 where there is no such clock."""
        return self._process.cpu_s()

    @property
    def _grace(self) -> float:
        """Seconds that a box which has said or lost its last word may take to end, on a busy machine, too."""
        return min(_GRACE_S, max(0.5, self._limits.wall - self.wall_s))

    def _send(self, frame: protocol.ToBox) -> None:
        if self._closed:
            raise ValueError("this box has ended")
        self._outgoing = memoryview(protocol.encode(frame, protocol.TO_BOX_BYTES))
        self._flush()

    def _flush(self) -> None:
        try:
            while self._outgoing:
                sent = self._process.frames.send(self._outgoing)
                self._outgoing = self._outgoing[sent:]
        except BlockingIOError:
            pass
        except OSError:  # the box is gone; the next read says so
            self._outgoing = memoryview(b"")
        wanted = select.POLLIN | (select.POLLOUT if self._outgoing else 0)
        if wanted != self._wanted:
            self._wanted = wanted
            self._poll.modify(self._process.frames, wanted)

    def _receive(self) -> protocol.FromBox:
        while (body := self._next_body()) is None:
            if self._wait(None):
                self._ended()
        try:
            frame = protocol.decode_from_box(body, self._tally)
        except protocol.TooMany:
            self._stop(Verdict.OLE, reason="limit", limit="values")
        except protocol.FrameError as error:
            self._stop(Verdict.PE, reason="malformed", message=str(error))
        if frame.index != self._index:
            self._stop(Verdict.PE, reason="order")
        self._index += 1
        if self._index > self._limits.frames:
            self._stop(Verdict.OLE, reason="limit", limit="frames")
        if isinstance(frame, protocol.Overflow):
            self._stop(Verdict.OLE, reason="limit", limit="value")
        return frame

    def _next_body(self) -> bytes | None:
        header = protocol.HEADER
        if len(self._incoming) < header.size:
            return None
        (length,) = header.unpack_from(self._incoming)
        if length > protocol.FRAME_BYTES:
            # the box's own side says Overflow for what is too large: somebody else has written here
            self._stop(Verdict.PE, reason="malformed", message="a frame over the limit")
        end = header.size + length
        if len(self._incoming) < end:
            return None
        body = bytes(self._incoming[header.size : end])
        del self._incoming[:end]
        return body

    def _wait(self, deadline: float | None) -> bool:
        """Wait for something to read, at most until ``deadline`` or a limit; True at end of frames."""
        started = time.monotonic()
        left = self._limits.wall - self.wall_s
        if deadline is not None:
            left = min(left, deadline - started)
        if started >= self._cpu_due:
            self._check_cpu(started)
        ready = self._poll.poll(max(0.0, min(left, self._cpu_due - started)) * 1000)
        self.wall_s += time.monotonic() - started
        if self.wall_s >= self._limits.wall:
            self._stop(Verdict.TLE, reason="limit", limit="wall")
        for fd, event in ready:
            if fd == self._process.stdout:
                self._read_stdout()
            elif event & select.POLLOUT and not event & (select.POLLIN | select.POLLHUP):
                self._flush()
            elif self._read_frames():
                return True
        return False

    def _check_cpu(self, now: float) -> None:
        """The kernel's own CPU limit counts in ticks, which in a virtual machine may be far off.

        What is left cannot be used up before ``_cpu_due``, not even on all cores.
        """
        left = self._limits.cpu_s - self.cpu_s
        if left <= 0:
            self._stop(Verdict.TLE, reason="limit", limit="cpu")
        self._cpu_due = now + max(left / _CORES, _STEP_S)

    def _read_frames(self) -> bool:
        try:
            data = self._process.frames.recv(_READ)
        except BlockingIOError:
            return False
        except OSError:
            return True
        self._received += len(data)
        if self._received > self._limits.result_bytes:
            self._stop(Verdict.OLE, reason="limit", limit="results")
        self._incoming += data
        return not data

    def _read_stdout(self) -> None:
        data = os.read(self._process.stdout, _READ)
        self._printed += data
        if not data:
            self._poll.unregister(self._process.stdout)
        if len(self._printed) > self._limits.stdout_bytes:
            self._stop(Verdict.OLE, reason="limit", limit="stdout")

    def _ended(self) -> NoReturn:
        """The frames ended before the work did: by itself, or the box closed them and goes on."""
        ended = self._process.reap(self._grace)
        if ended is None:
            self._stop(Verdict.PE, reason="channel closed")
        verdict, detail = explain(ended, self._limits, self._process.lost)
        self._stop(verdict, **detail)

    def _stop(self, verdict: Verdict, **detail: Any) -> NoReturn:
        self._process.kill()
        ended = self._process.reap(_GRACE_S)
        if ended is not None and ended.out_of_memory and verdict is not Verdict.SE:
            verdict, detail = Verdict.MLE, {"reason": "limit", "limit": "memory"}
        usage = self._usage()
        self.close()
        raise Stopped(verdict, detail, usage)

    def _usage(self) -> Usage:
        ended = self._process.reap(0.0)
        if self._process.stdout >= 0:
            with contextlib.suppress(BlockingIOError):
                while len(self._printed) <= self._limits.stdout_bytes and (
                    data := os.read(self._process.stdout, _READ)
                ):
                    self._printed += data
        printed = bytes(self._printed[: self._limits.stdout_bytes]).decode("utf-8", "replace")
        if ended is None:
            return Usage(self.cpu_s, self.wall_s, None, printed)
        return Usage(ended.cpu_s, self.wall_s, ended.memory_mb, printed)
