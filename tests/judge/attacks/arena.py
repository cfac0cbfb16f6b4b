"""A small exercise to attack, and what has to hold after every attack."""

from __future__ import annotations

import itertools
import os
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from judge.sandbox import Bundle, HostError, Limits, Pool, Stopped, make_bundle
from judge.sandbox.doctor import examine
from judge.sandbox.protocol import arrived
from judge.types import Verdict

HONEST = b"import torch\n\ndef prefix_sum(x):\n    return torch.cumsum(x, 0)\n"
QUICK = Limits(cpu_s=0.5, memory_mb=192, wall_s=2)
CASES = 4
DRIVE = """
def drive(target, case, io):
    io.emit(io.attempt(target, case["x"]))
    io.emit(case["x"])
"""


class CutOut:
    """The exercise whose target the boxes of this suite must not hold."""

    target = "minisgl.scheduler.cache:CacheManager.cache_req"
    members: list[str] = []
    also_cut: list[str] = []


@dataclass
class Shot:
    """How a submission ended. ``seconds`` is the time from the box's start to its end."""

    verdict: Verdict
    seconds: float
    detail: dict[str, Any] = field(default_factory=dict)
    stdout: str = ""
    emitted: list[Any] = field(default_factory=list)


class Arena:
    """A pool under attack. ``known`` holds what may not change: processes, mounts, groups, descriptors, files."""

    def __init__(self, folder: Path) -> None:
        self.pool = open_pool()
        self.bundle = make_bundle(CutOut())
        self.canary = folder / "canary"
        self.canary.write_text("alive")
        assert self.fire(HONEST).verdict is Verdict.AC
        self.zygote = self.pool._backend.zygote_pid()
        self.known = self.state()

    def fire(
        self,
        source: bytes | str,
        limits: Limits = QUICK,
        drive: str = DRIVE,
        calls: object = None,
        bundle: Bundle | None = None,
        filename: str = "mine.py",
    ) -> Shot:
        """Judge one submission on fresh random inputs, as the judge does: in order, strictly compared."""
        source = source.encode() if isinstance(source, str) else source
        emitted: list[Any] = []
        verdict = Verdict.AC
        with self.pool.box(bundle or self.bundle, limits) as box:
            started = time.monotonic()
            try:
                box.load(source, filename=filename, target="prefix_sum")
                for _ in range(CASES):
                    numbers = [secrets.randbelow(1000) for _ in range(6)]
                    answer = box.case(drive, {"x": torch.tensor(numbers)}, calls)
                    emitted.append(answer.emitted)
                    if answer.raised is not None:
                        verdict = Verdict.RE
                    elif not right(numbers, answer.emitted) and verdict is Verdict.AC:
                        verdict = Verdict.WA
                usage = box.finish()
            except Stopped as stopped:
                seconds = time.monotonic() - started
                return Shot(stopped.verdict, seconds, stopped.detail, stopped.usage.stdout, emitted)
        return Shot(verdict, time.monotonic() - started, {}, usage.stdout, emitted)

    def state(self) -> dict[str, Any]:
        """Everything that an attack could leave behind on this machine."""
        return {
            "processes": descendants(self.zygote),
            "judge mounts": Path("/proc/self/mountinfo").read_text(),
            "zygote mounts": [_mounts(pid) for pid in descendants(self.zygote)],
            "groups": groups(self.pool),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "canary": self.canary.read_text(),
            "files": sorted(os.listdir(self.canary.parent)),
        }

    def check(self) -> None:
        """Nothing is left, judge and zygote are up, and the next honest submission is accepted."""
        assert self.state() == self.known
        honest = self.fire(HONEST)
        assert honest.verdict is Verdict.AC, honest
        assert self.state() == self.known


def open_pool(**options: Any) -> Pool:
    """An isolated pool; where the host cannot isolate, the test fails in doctor's words."""
    pool = Pool(isolation="strict", **options)
    try:
        pool.isolation  # waits
    except HostError:
        words = [fact.text["en"] for fact in examine() if not fact.ok]
        raise AssertionError("\n".join(words)) from None
    return pool


def right(numbers: list[int], emitted: list[Any]) -> bool:
    """Strictly what the reference emits: types, dtype, shape, values, and the argument left alone."""
    if len(emitted) != 2 or type(emitted[0]) is not dict or emitted[0].keys() != {"value"}:
        return False
    due = [torch.tensor(list(itertools.accumulate(numbers))), torch.tensor(numbers)]
    return [emitted[0]["value"], emitted[1]] == arrived(due)


def descendants(pid: int) -> list[int]:
    """All processes below ``pid``, sorted, with itself."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                parent = int(Path("/proc", entry, "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += parents.get(one, [])
    return sorted(found)


def groups(pool: Pool) -> list[str]:
    """The control groups that are there for boxes of this pool."""
    made = pool._backend._groups
    return (
        sorted(str(box) for folder in {made._memory, made._pids} for box in folder.glob("box-*"))
        if made
        else []
    )


def _mounts(pid: int) -> str:
    return Path(f"/proc/{pid}/mountinfo").read_text()


def body(text: str, head: str = "") -> str:
    """A submission whose ``prefix_sum`` has this body."""
    lines = "".join(f"    {line}\n" for line in text.strip("\n").split("\n"))
    return f"import ctypes, gc, os, signal, sys, time, torch\n{head}\ndef prefix_sum(x):\n{lines}"
