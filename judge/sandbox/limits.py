"""Limits of a box, what it used, and how it is told that it was stopped."""

from __future__ import annotations

from typing import Any

import msgspec

from judge.types import Verdict


class Limits(msgspec.Struct, frozen=True):
    """``wall_s`` counts only while the judge waits for the box; left out, it follows from ``cpu_s``.

    ``frames`` and ``result_bytes`` bound all that a box sends as frames, ``stdout_bytes`` what it prints.
    """

    cpu_s: float = 2.0
    memory_mb: int = 256
    wall_s: float | None = None
    stdout_bytes: int = 64 << 10
    result_bytes: int = 8 << 20
    frames: int = 4096
    calls: int = 2000

    @property
    def wall(self) -> float:
        """Seconds that the judge waits for the box, all waiting together."""
        return self.wall_s if self.wall_s is not None else 3 * self.cpu_s + 2


ENGINE_LIMITS = Limits(cpu_s=20.0, memory_mb=1024, wall_s=60.0)


class Usage(msgspec.Struct):
    """What a box used: seconds, megabytes (None where nobody measures it), and what it printed."""

    cpu_s: float = 0.0
    wall_s: float = 0.0
    memory_mb: float | None = None
    stdout: str = ""


class Exit(msgspec.Struct):
    """How a process ended, as told by whoever reaped it; ``status`` as of ``os.waitpid``.

    ``unprotected``: nothing kept its own code from sending it any signal.
    """

    status: int
    cpu_s: float
    memory_mb: float | None = None
    out_of_memory: bool = False
    unprotected: bool = False


class Stopped(Exception):
    """The box ended, or was ended, before its work was done; ``verdict`` is never AC or WA.

    ``detail`` may hold: ``reason`` (a short key), ``limit`` (what was exceeded), ``name``, ``message`` and
    ``line`` of an exception, ``signal`` or ``exit`` of the process. Verdict SE: ours, worth one retry.
    """

    def __init__(self, verdict: Verdict, detail: dict[str, Any], usage: Usage) -> None:
        super().__init__(f"{verdict}: {detail}")
        self.verdict = verdict
        self.detail = detail
        self.usage = usage


class HostError(Exception):
    """This host cannot isolate: what failed, in one line."""
