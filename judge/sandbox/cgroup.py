"""Control groups: version 2 if its controllers are at hand, else version 1, else none (then rlimits alone).

Only with a group is a memory verdict exact: the kernel counts what the box really uses, ends it at the limit
and keeps count of having done so.
"""

from __future__ import annotations

import itertools
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

_NAME = re.compile(r"judge-(\d+)-\d+")
_PIDS = 16
_numbers = itertools.count()


@dataclass
class Facts:
    """What a group saw: peak megabytes, and whether the kernel killed for lack of memory."""

    peak_mb: float
    out_of_memory: bool


class Group:
    """The group of one box: ``folders`` by controller (the same one twice in version 2)."""

    def __init__(self, version: int, memory: Path, pids: Path, memory_mb: int) -> None:
        self._version = version
        self._memory = memory
        self._pids = pids
        for folder in self._folders:
            folder.mkdir()
        limit = str(memory_mb << 20)
        if version == 2:
            _write(memory / "memory.max", limit)
            _write_if_there(memory / "memory.swap.max", "0")
        else:
            _write(memory / "memory.limit_in_bytes", limit)
            _write_if_there(memory / "memory.memsw.limit_in_bytes", limit)
        _write(pids / "pids.max", str(_PIDS))

    @property
    def _folders(self) -> set[Path]:
        return {self._memory, self._pids}

    def add(self, pid: int) -> None:
        """Put a process into the group."""
        for folder in self._folders:
            _write(folder / "cgroup.procs", str(pid))

    def facts(self) -> Facts:
        """What happened in it so far."""
        if self._version == 2:
            peak, events = self._memory / "memory.peak", self._memory / "memory.events"
        else:
            peak, events = self._memory / "memory.max_usage_in_bytes", self._memory / "memory.oom_control"
        killed = re.search(r"^oom_kill (\d+)$", events.read_text(), re.MULTILINE)
        used = int(peak.read_text()) / (1 << 20) if peak.exists() else 0.0
        return Facts(round(used, 1), killed is not None and killed[1] != "0")

    def remove(self) -> None:
        """Remove the group; its processes have ended, but the kernel may need a moment to let go of them."""
        for folder in self._folders:
            _remove(folder)


class Groups:
    """The folder, one for each controller, that holds the groups of one pool."""

    def __init__(self, version: int, memory: Path, pids: Path) -> None:
        self.name = f"cgroup{version}"
        self._version = version
        self._memory = memory
        self._pids = pids

    def make(self, memory_mb: int) -> Group:
        """A new group. Raises OSError."""
        name = f"box-{next(_numbers)}"
        return Group(self._version, self._memory / name, self._pids / name, memory_mb)

    def close(self) -> None:
        """Remove the folders, and any group left in them."""
        for folder in {self._memory, self._pids}:
            for inner in folder.glob("box-*"):
                _remove(inner)
            _remove(folder)


def find() -> Groups | None:
    """Groups that this process may make, tried by making one; None when it may not."""
    for version, memory, pids in _places():
        name = f"judge-{os.getpid()}-{next(_numbers)}"
        groups = Groups(version, memory / name, pids / name)
        try:
            for folder in {memory, pids}:
                _clean(folder)
                (folder / name).mkdir()
            if version == 2:
                _write(memory / name / "cgroup.subtree_control", "+memory +pids")
            groups.make(64).remove()
            return groups
        except OSError:
            groups.close()
    return None


def _places() -> list[tuple[int, Path, Path]]:
    """Version and the folders of the memory and pids controllers, best first."""
    mounts = _mounts()
    own = _own_paths()
    places = []
    if "cgroup2" in mounts:
        root = mounts["cgroup2"]
        here = root / own.get("", "/").lstrip("/")
        # A group that holds processes cannot have limited children, so the parent is often the place.
        for folder in dict.fromkeys((here, here.parent, root)):
            control = folder / "cgroup.subtree_control"
            if folder.is_relative_to(root) and control.exists():
                _try_to_enable(control)
                if {"memory", "pids"} <= set(control.read_text().split()):
                    places.append((2, folder, folder))
    if "memory" in mounts and "pids" in mounts:
        folders = []
        for controller in ("memory", "pids"):
            inner = mounts[controller] / own.get(controller, "/").lstrip("/")
            folders.append(inner if inner.is_dir() else mounts[controller])
        places.append((1, folders[0], folders[1]))
    return places


def _mounts() -> dict[str, Path]:
    """Where "cgroup2", and the version 1 controllers "memory" and "pids", are mounted."""
    found: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        front, _, back = line.partition(" - ")
        kind, _, options = back.split(" ")[:3]
        point = Path(front.split(" ")[4])
        if kind == "cgroup2":
            found.setdefault("cgroup2", point)
        elif kind == "cgroup":
            for controller in {"memory", "pids"} & set(options.split(",")):
                found.setdefault(controller, point)
    return found


def _own_paths() -> dict[str, str]:
    """Path of this process's group by controller; "" is version 2."""
    found: dict[str, str] = {}
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            found[controller] = path
    return found


def _try_to_enable(control: Path) -> None:
    try:
        _write(control, "+memory +pids")
    except OSError:  # not ours to change; what is enabled already may do
        return


def _clean(folder: Path) -> None:
    """Remove what judges that were killed have left."""
    for stale in folder.glob("judge-*"):
        match = _NAME.fullmatch(stale.name)
        if match and not Path("/proc", match[1]).exists():
            for inner in (*stale.glob("box-*"), stale):
                _remove(inner, patience_s=0.0)


def _remove(folder: Path, patience_s: float = 1.0) -> None:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() >= deadline:
                return
            time.sleep(0.002)


def _write(path: Path, text: str) -> None:
    fd = os.open(path, os.O_WRONLY)  # never creates: these files exist or the controller is not there
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _write_if_there(path: Path, text: str) -> None:
    if path.exists():
        try:
            _write(path, text)
        except OSError:  # no swap accounting in this kernel
            return
