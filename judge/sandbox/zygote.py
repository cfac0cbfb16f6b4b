"""The zygote: Python with torch imported, in namespaces of its own, from which boxes are forked.

Three kinds of process run this file. The *base* imports torch and the like, makes the boxes' file system its
root and forks one *template* for each exercise. A template imports that exercise's bundle and forks *boxes*.
A box confines itself and enters the loop in ``judge.sandbox.inside``. Assume that a learner reads all memory
of the three: no secret ever enters here.

A forked process returns up the stack, so that no frame of the one that forked it is left below the learner's.
"""

from __future__ import annotations

import gc
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

from judge.sandbox import confine, hugepages, rootfs, seccomp
from judge.sandbox import syscalls as sys_
from judge.sandbox.forking import Forker, Order
from judge.sandbox.importer import MemoryImporter
from judge.sandbox.inside import loop, rehearsal
from judge.sandbox.inside.channel import Channel

_TEMPLATE_MB = 96  # what importing a bundle and its model may add
_INNER_UID = 1000  # what a box is inside a user namespace that maps one user
_NEEDED = ("torch", "numpy.random", "msgspec")
_HANDY = (
    "dataclasses",
    "bisect",
    "heapq",
    "inspect",
    "statistics",
    "fractions",
    "ssl",
    "bz2",
    "lzma",
    "sqlite3",
)
# The last few need libraries of the system, which boxes cannot see.


def enter(fd: int, options: dict[str, Any], importer: MemoryImporter) -> NoReturn:
    """Called by the boot code. ``options``: ``control`` (descriptor), ``folders``, ``assets``."""
    base = Base(options, fd)
    order = base.start_and_serve()
    del base, fd, options
    template = Template(order, importer)
    order = template.serve()
    del template, importer
    become_box(order)


def become_box(order: Order) -> NoReturn:
    """Confine this process and serve orders. What goes wrong here is ours, and told on the control socket."""
    try:
        confine.separate()
        order.wait_for_go()
        confine.confine(order.options, (order.fds[0], order.fds[1]), order.shared)
    except BaseException as error:
        order.fail(f"{type(error).__name__}: {error}")
        os._exit(4)
    del order
    _forget()
    loop.main(Channel.of_fd(confine.FRAMES_FD))


class Base:
    """The first process: separates itself from the host, imports torch, forks templates."""

    def __init__(self, options: dict[str, Any], fd: int) -> None:
        os.close(fd)
        self._options = options
        self._forker = Forker(options["control"])

    def start_and_serve(self) -> Order:
        """Returns in the process of a template."""
        try:
            self._leave_host()
            shared: dict[str, Any] = {"program": seccomp.build(), "user_namespace": self._in_user_namespace}
            _try_filter(shared["program"])
            _import_torch()
            shared["data_mb"] = _data_mb() + _TEMPLATE_MB
            shared["proc"] = os.open("/proc", os.O_PATH | os.O_DIRECTORY)
            rootfs.build(self._options["folders"], self._options["assets"])
            rootfs.enter()
        except (OSError, ImportError, RuntimeError) as error:
            self._forker.tell({"error": f"{type(error).__name__}: {error}"})
            os._exit(1)
        # Boxes of a template that died come to this process, the first of the namespace: let the kernel reap.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        gc.collect()
        gc.freeze()
        self._forker.tell({"ready": "userns" if self._in_user_namespace else "root"})
        return self._forker.serve(shared, linger=False)

    def _leave_host(self) -> None:
        uid, gid = os.getuid(), os.getgid()
        self._in_user_namespace = uid != 0
        inner = (
            sys_.CLONE_NEWNS | sys_.CLONE_NEWPID | sys_.CLONE_NEWNET | sys_.CLONE_NEWIPC | sys_.CLONE_NEWUTS
        )
        if self._in_user_namespace:
            sys_.unshare(sys_.CLONE_NEWUSER | inner)
            _write("/proc/self/setgroups", "deny")
            _write("/proc/self/uid_map", f"{_INNER_UID} {uid} 1")
            _write("/proc/self/gid_map", f"{_INNER_UID} {gid} 1")
        else:
            sys_.unshare(inner)
        child = os.fork()
        if child:
            self._forker.close()
            os.waitpid(child, 0)
            os._exit(0)
        # First process of the namespace: when it ends, the kernel ends every template and box with it.
        sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)


class Template:
    """A process with one exercise's bundle imported, from which its boxes are forked."""

    def __init__(self, order: Order, importer: MemoryImporter) -> None:
        self._shared = order.shared
        self._forker = Forker(order.fds[0])
        sys_.prctl(sys_.PR_SET_PDEATHSIG, signal.SIGKILL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        bundle = order.read_json(order.fds[1])
        importer.add(bundle["sources"], bundle["packages"])

    def serve(self) -> Order:
        """Returns in the process of a box."""
        _import_quietly(
            loop.ENGINE_PROGRAM
        )  # and with it the engine; the rest is imported where it is wanted
        program = sys.modules.get(loop.ENGINE_PROGRAM)
        if program is not None:
            _warm_quietly(program)
        gc.collect()
        gc.freeze()
        hugepages.collapse(self._shared["proc"])
        self._forker.tell({"ready": "template"})
        return self._forker.serve(self._shared, linger=True)


def _import_torch() -> None:
    for name in _NEEDED:
        importlib.import_module(name)
    for name in _HANDY:
        _import_quietly(name)
    torch = sys.modules["torch"]
    torch.set_num_threads(1)
    (torch.ones(8, 8) @ torch.ones(8, 8)).cumsum(0)  # the first product sets up the maths library
    rehearsal.run()


def _import_quietly(name: str) -> None:
    try:
        importlib.import_module(name)
    except Exception:  # an optional package is missing, or this part needs the target: a box will say so
        return


def _warm_quietly(program: Any) -> None:
    try:
        program.warm()
    except Exception:  # the target that is cut out may be part of starting an engine
        return


def _try_filter(program: bytes) -> None:
    """Load the filter in a child that ends at once, to know now whether this kernel takes it."""
    child = os.fork()
    if child == 0:
        try:
            sys_.prctl(sys_.PR_SET_NO_NEW_PRIVS, 1)
            sys_.load_filter(program)
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise OSError("seccomp: the kernel does not take the filter")


def _data_mb() -> int:
    """Megabytes of private writable memory of this process, from which RLIMIT_DATA counts."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("VmData:"))
    return int(line.split()[1]) >> 10


def _forget() -> None:
    """Drop the zygote's modules. They are no secret, but nothing of theirs is the learner's business."""
    for name in ("zygote", "forking", "confine", "hugepages", "rootfs", "seccomp", "syscalls"):
        sys.modules.pop(f"judge.sandbox.{name}", None)


def _write(path: str, text: str) -> None:
    Path(path).write_text(text)
