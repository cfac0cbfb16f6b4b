"""A box forked from the zygote, seen from the judge."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from pathlib import Path

from judge.sandbox import cgroup, forking
from judge.sandbox.limits import Exit


class IsolatedProcess:
    """See ``Process``. Killing the first process of the box's namespace ends all that it has started."""

    def __init__(
        self, frames: socket.socket, stdout: int, control: socket.socket, pidfd: int, pid: int,
        group: cgroup.Group | None,
    ) -> None:  # fmt: skip
        self.frames = frames
        self.stdout = stdout
        self.lost = False
        self._control = control
        self._pidfd = pidfd
        self._clock = (~pid << 3) | 2  # clock_getcpuclockid(pid)
        self._group = group
        self._exit: Exit | None = None

    def kill(self) -> None:
        """End it now."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)

    def reap(self, timeout: float) -> Exit | None:
        """How it ended, as the template tells; ``lost`` when the sandbox failed or the template is gone."""
        deadline = time.monotonic() + timeout
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while self._exit is None and poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            try:
                message = self._control.recv(4096)
            except ConnectionResetError:  # killed before it had read that it may go
                message = b""
            if message.startswith(forking.FAILED):
                self.lost = True
            else:
                self._exit = self._ended(message)
        return self._exit

    def _ended(self, message: bytes) -> Exit:
        facts = self._group.facts() if self._group is not None else None
        memory = facts.peak_mb if facts is not None else None
        if len(message) != forking.EXIT.size:
            self.lost = True
            self.kill()
            return Exit(signal.SIGKILL, 0.0, memory)
        _, status, user, system, _ = forking.EXIT.unpack(message)
        return Exit(status, user + system, memory, facts is not None and facts.out_of_memory)

    def cpu_s(self) -> float:
        """CPU seconds so far, by the kernel's clock of the process."""
        if self._exit is not None:
            return self._exit.cpu_s
        try:
            return time.clock_gettime(self._clock)
        except OSError:  # it has just ended
            return 0.0

    def close(self) -> None:
        """Close descriptors, remove the group."""
        self.frames.close()
        self._control.close()
        os.close(self.stdout)
        os.close(self._pidfd)
        if self._group is not None:
            self._group.remove()


def receive_pid(control: socket.socket) -> tuple[int, int]:
    """The pidfd of a process just forked, and its number in this process's namespace. Raises OSError."""
    message, fds, _, _ = socket.recv_fds(control, 64, 1)
    if message != forking.PID or len(fds) != 1:
        raise OSError("the template ended before it forked")
    lines = Path(f"/proc/self/fdinfo/{fds[0]}").read_text().splitlines()
    numbers = [int(line.split()[1]) for line in lines if line.startswith("Pid:")]
    if not numbers or numbers[0] <= 0:
        os.close(fds[0])
        raise OSError("the box has ended already")
    return fds[0], numbers[0]
