"""What a box's process looks like from outside, whatever isolates it, and why one has ended."""

from __future__ import annotations

import os
import signal
import socket
from typing import Any, Protocol

from judge.sandbox.limits import Exit, Limits
from judge.types import Verdict

_CRASHES = {signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE, signal.SIGILL}


class Process(Protocol):
    """A box's process: where it is spoken to and how it is ended."""

    frames: socket.socket
    """Non-blocking; end of file once the process is gone, or has closed its side."""
    stdout: int
    """Non-blocking descriptor of what it prints, or -1."""
    lost: bool
    """Whether the process ended because the sandbox itself failed."""

    def kill(self) -> None:
        """End it now, with all it may have started."""

    def reap(self, timeout: float) -> Exit | None:
        """How it ended, or None while it runs; waits at most ``timeout`` seconds. May be asked again."""

    def cpu_s(self) -> float:
        """Its CPU seconds so far; 0.0 where nobody knows."""

    def close(self) -> None:
        """Give back descriptors and groups; the process has ended."""


def explain(ended: Exit, limits: Limits, lost: bool) -> tuple[Verdict, dict[str, Any]]:
    """The verdict on a process that ended before its work was done, and the detail of ``Stopped``."""
    if lost:
        return Verdict.SE, {"reason": "sandbox"}
    if ended.out_of_memory:
        return Verdict.MLE, {"reason": "limit", "limit": "memory"}
    if not os.WIFSIGNALED(ended.status):
        return Verdict.RE, {"reason": "exit", "exit": os.waitstatus_to_exitcode(ended.status)}
    number = os.WTERMSIG(ended.status)
    # The first process of a namespace ignores SIGXCPU and is killed later, so the clock must tell why.
    if number == signal.SIGXCPU or (number == signal.SIGKILL and ended.cpu_s >= limits.cpu_s / 2):
        return Verdict.TLE, {"reason": "limit", "limit": "cpu"}
    if number == signal.SIGKILL and not ended.unprotected:
        return Verdict.SE, {"reason": "killed"}
    if number == signal.SIGXFSZ:
        return Verdict.OLE, {"reason": "limit", "limit": "file"}
    if number == signal.SIGSYS:
        return Verdict.RE, {"reason": "forbidden", "signal": "SIGSYS"}
    reason = "crash" if number in _CRASHES else "signal"
    return Verdict.RE, {"reason": reason, "signal": signal.Signals(number).name}
