"""The last steps of a forked process before it may run a learner's code. After them there is no way back."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import tempfile
from typing import Any

from judge.sandbox import rootfs
from judge.sandbox import syscalls as sys_

_BOX_MB = 16
_OPEN_FILES = 32
_STACK = 8 << 20
_THREADS_WITHOUT_GROUP = 64
_NAMESPACES = sys_.CLONE_NEWNS | sys_.CLONE_NEWNET | sys_.CLONE_NEWIPC | sys_.CLONE_NEWUTS
FRAMES_FD = 3


def separate() -> None:
    """Own namespaces; before the box waits for its control group, as this is what takes time."""
    sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)
    os.setsid()
    sys_.unshare(_NAMESPACES)


def confine(order: dict[str, Any], fds: tuple[int, int], shared: dict[str, Any]) -> None:
    """Scratch folder, descriptors, user, capabilities, limits, state, and last the system call filter.

    ``order``: ``uid`` (None in a user namespace), ``cpu_s`` (whole seconds), ``memory_mb`` (None where a
    control group does). ``fds``: frames and standard output. ``shared``: the filter, and how much data the
    zygote has.
    """
    rootfs.mount_box(_BOX_MB)
    _descriptors(*fds)
    sys_.drop_bounding_set()
    if order["uid"] is not None:
        uid = order["uid"]
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    sys_.drop_capabilities()
    sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)  # setresuid has cleared it
    sys_.prctl(sys_.PR_SET_NO_NEW_PRIVS, 1)
    sys_.prctl(sys_.PR_SET_DUMPABLE, 0)
    _limits(order, shared["data_mb"])
    _state()
    sys_.load_filter(shared["program"])


def _descriptors(frames: int, out: int) -> None:
    """Keep 0 (/dev/null), 1 and 2 (standard output), 3 (frames); close all others."""
    null = os.open("/dev/null", os.O_RDONLY)
    spare = [os.dup(fd) for fd in (null, out, frames)]  # out of the way of the numbers to fill
    low, frames = min(spare), spare[2]
    assert low > FRAMES_FD
    for fd, number in zip(spare, (0, 1, FRAMES_FD), strict=True):
        os.dup2(fd, number)
    os.dup2(1, 2)
    os.closerange(FRAMES_FD + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def _limits(order: dict[str, Any], data_mb: int) -> None:
    seconds = order["cpu_s"]
    limits = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: _BOX_MB << 20,
        resource.RLIMIT_NOFILE: _OPEN_FILES,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
        resource.RLIMIT_STACK: _STACK,
        resource.RLIMIT_NPROC: _THREADS_WITHOUT_GROUP,
        resource.RLIMIT_CPU: seconds,
    }
    if order["memory_mb"] is not None:
        limits[resource.RLIMIT_DATA] = (data_mb + order["memory_mb"]) << 20
    for kind, value in limits.items():
        resource.setrlimit(kind, (value, value))


def _state() -> None:
    """What the zygote had of its own, and what would tell two boxes apart."""
    environment = {"HOME": rootfs.BOX, "TMPDIR": rootfs.BOX, "PATH": "/nonexistent", "LANG": "C.UTF-8"}
    os.environ.clear()
    os.environ.update(environment, OMP_NUM_THREADS="1")
    sys.argv[:] = ["box"]
    tempfile.tempdir = None
    random.seed(0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - the box's own, for as long as it lives
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", 1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
