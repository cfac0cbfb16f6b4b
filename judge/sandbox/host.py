"""The judge's side of the zygote: start it, ask templates for boxes, replace what has died."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import tempfile
import threading
from collections import OrderedDict

from judge.sandbox import cgroup, forking
from judge.sandbox.bundle import Bundle
from judge.sandbox.isolated import IsolatedProcess, receive_pid
from judge.sandbox.limits import Limits, Stopped, Usage
from judge.sandbox.zygotes import Base, Lost, Template
from judge.types import Verdict

_SPAWN_S = 10.0
_ATTEMPTS = 3  # a template may be gone, and the base below it, too
_UID_BASE = 20_000
_UIDS = 40_000


class ZygoteBackend:
    """Boxes forked from a zygote. Thread-safe. Nothing waits in the constructor."""

    def __init__(self, templates: int) -> None:
        self._limit = templates
        self._lock = threading.Lock()
        self._templates: OrderedDict[str, Template] = OrderedDict()
        self._home = tempfile.TemporaryDirectory(prefix="judge-")
        self._groups = cgroup.find()
        self._base = Base(self._home.name)

    @property
    def isolation(self) -> str:
        """What holds a box. Waits for the zygote; raises HostError."""
        kind = self._base.wait_ready()
        namespaces = "namespaces" if kind == "root" else "namespaces(user)"
        return "+".join([namespaces, self._groups.name if self._groups else "rlimits", "seccomp"])

    def spawn(self, bundle: Bundle, limits: Limits, slot: int) -> IsolatedProcess:
        """Fork a box; what has died is replaced on the way. Raises Stopped (SE), HostError."""
        failure: Exception | None = None
        for _ in range(_ATTEMPTS):
            template = self._template(bundle)
            try:
                template.start(self._living_base)
                return self._fork(template, limits, slot)
            except (Lost, OSError) as error:
                failure = error
                self._drop(template)
        detail = {"reason": "sandbox", "message": str(failure)}
        raise Stopped(Verdict.SE, detail, Usage()) from failure

    def close(self) -> None:
        """End the zygote and with it everything in its process namespace."""
        with self._lock:
            for template in self._templates.values():
                template.close()
            self._templates.clear()
            self._base.close()
        if self._groups is not None:
            self._groups.close()
        self._home.cleanup()

    def zygote_pid(self) -> int:
        """The process that the judge started; for looking after it, and for tests."""
        return self._base.pid

    def _fork(self, template: Template, limits: Limits, slot: int) -> IsolatedProcess:
        group = self._groups.make(limits.memory_mb) if self._groups else None
        try:
            return self._fork_into(group, template, limits, slot)
        except BaseException:
            if group is not None:
                group.remove()
            raise

    def _fork_into(
        self, group: cgroup.Group | None, template: Template, limits: Limits, slot: int
    ) -> IsolatedProcess:
        root = self._base.wait_ready() == "root"
        uid = _UID_BASE + (self._base.pid * 64 + slot) % _UIDS if root else None
        order = {
            "namespace": True,
            "uid": uid,
            "cpu_s": math.ceil(limits.cpu_s) + 1,  # a second line: box.py keeps the exact limit
            "memory_mb": None if group else limits.memory_mb,
        }
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            frames, frames_in = socket.socketpair()
            ours.callback(frames.close)
            theirs.callback(frames_in.close)
            out, out_in = os.pipe()
            ours.callback(os.close, out)
            theirs.callback(os.close, out_in)
            control, control_in = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            ours.callback(control.close)
            theirs.callback(control_in.close)
            template.send(order, [frames_in.fileno(), out_in, control_in.fileno()])
            theirs.close()
            control.settimeout(_SPAWN_S)
            pidfd, pid = receive_pid(control)
            ours.callback(os.close, pidfd)
            if group is not None:
                group.add(pid)
            control.send(forking.GO)
            frames.setblocking(False)
            os.set_blocking(out, False)
            ours.pop_all()
        return IsolatedProcess(frames, out, control, pidfd, pid, group)

    def _template(self, bundle: Bundle) -> Template:
        with self._lock:
            template = self._templates.get(bundle.key)
            if template is None:
                template = self._templates[bundle.key] = Template(bundle)
                while len(self._templates) > self._limit:
                    self._templates.popitem(last=False)[1].close()
            self._templates.move_to_end(bundle.key)
            return template

    def _living_base(self) -> Base:
        with self._lock:
            if not self._base.alive():
                self._base.close()
                self._base = Base(self._home.name)
            return self._base

    def _drop(self, template: Template) -> None:
        with self._lock:
            if self._templates.get(template.key) is template:
                del self._templates[template.key]
        template.close()
