"""The weak mode: a subprocess with time limits and nothing else, for a learner's own code on an own machine.

It keeps nothing secret and protects nothing: the code runs with all rights of whoever started the judge.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from judge.sandbox import boot
from judge.sandbox.bundle import Bundle, make_bundle
from judge.sandbox.limits import Exit, Limits


class WeakBackend:
    """Starts a fresh interpreter a box; one stands ready with torch imported, which takes a while."""

    def __init__(self, why: str = "") -> None:
        self.isolation = f"weak ({why})" if why else "weak"
        self._home = tempfile.TemporaryDirectory(prefix="judge-")
        self._lock = threading.Lock()
        self._spare: WeakProcess | None = WeakProcess(self._home.name)

    def spawn(self, bundle: Bundle, limits: Limits, slot: int) -> WeakProcess:
        """Give the spare interpreter its bundle, and start the next one."""
        with self._lock:
            process, self._spare = self._spare, WeakProcess(self._home.name)
        assert process is not None, "the backend is closed"
        process.equip(bundle, limits)
        return process

    def close(self) -> None:
        """End the spare, remove the scratch folder."""
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None:
            spare.kill()
            spare.reap(1.0)
            spare.close()
        self._home.cleanup()


class WeakProcess:
    """A box that is an ordinary subprocess."""

    lost = False

    def __init__(self, home: str, more: Mapping[str, str] = MappingProxyType({})) -> None:
        """``more``: variables of its environment."""
        self.frames, theirs = socket.socketpair()
        self.stdout, out = os.pipe()
        try:
            self._process = boot.start(theirs, home=home, stdout=out, stderr=out, more=more)
        finally:
            theirs.close()
            os.close(out)
        os.set_blocking(self.stdout, False)
        self._clock = _cpu_clock(self._process.pid)
        self._exit: Exit | None = None
        inside = make_bundle(None)
        sources = {name: source for name, source in inside.sources.items() if name.startswith("judge")}
        self._send(
            boot.message(
                sources=sources,
                packages=inside.packages,
                root=str(Path(__file__).parents[2]),
                entry="judge.sandbox.inside.weak",
                options={},
            )
        )
        self._ready_cpu_s = 0.0

    def equip(self, bundle: Bundle, limits: Limits) -> None:
        """Send bundle and limits once the process has started up; only from here on time counts."""
        try:
            self.frames.recv(1)
        except OSError:  # it is gone already; the first read of the box says so
            return
        self._ready_cpu_s = self._clock_s()
        order = {
            "sources": bundle.sources, "packages": bundle.packages,
            "cpu_s": limits.cpu_s, "memory_mb": self._memory_mb(limits),
        }  # fmt: skip
        body = json.dumps(order).encode()
        self._send(struct.pack("<I", len(body)) + body)
        self.frames.setblocking(False)

    def _memory_mb(self, limits: Limits) -> int | None:
        """What memory is limited to, if it is."""
        return limits.memory_mb

    def _send(self, message: bytes) -> None:
        try:
            self.frames.sendall(message)
        except OSError:  # it is gone already; the first read of the box says so
            return

    def kill(self) -> None:
        """Kill the process group: its leader is not reaped before, so the number is still ours."""
        if self._exit is None:
            try:
                os.killpg(self._process.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):  # macOS says so of a group of zombies
                return

    def reap(self, timeout: float) -> Exit | None:
        """How it ended."""
        deadline = time.monotonic() + timeout
        while self._exit is None:
            pid, status, usage = os.wait4(self._process.pid, os.WNOHANG)
            if pid:
                self._process.returncode = os.waitstatus_to_exitcode(status)
                used = usage.ru_utime + usage.ru_stime - self._ready_cpu_s
                self._exit = Exit(status, max(0.0, used), unprotected=True)
            elif time.monotonic() >= deadline:
                return None
            else:
                time.sleep(0.002)
        return self._exit

    def cpu_s(self) -> float:
        """CPU seconds so far, by the kernel's clock of the process, where there is one."""
        return max(0.0, self._clock_s() - self._ready_cpu_s)

    def _clock_s(self) -> float:
        if self._clock is None or self._exit is not None:
            return 0.0
        try:
            return time.clock_gettime(self._clock)
        except OSError:
            return 0.0

    def close(self) -> None:
        """Close the descriptors."""
        self.frames.close()
        os.close(self.stdout)


def _cpu_clock(pid: int) -> int | None:
    """The clock id of another process's CPU time (``clock_getcpuclockid``): an encoding of Linux alone."""
    return (~pid << 3) | 2 if sys.platform == "linux" else None
