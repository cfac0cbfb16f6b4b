"""The judge's side of the zygote: start it, ask templates for boxes, replace what has died."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import socket
import subprocess
import sysconfig
import tempfile
import threading
from collections import OrderedDict
from pathlib import Path

from judge.sandbox import boot, cgroup, forking
from judge.sandbox.bundle import Bundle, make_bundle
from judge.sandbox.isolated import IsolatedProcess, receive_pid
from judge.sandbox.limits import HostError, Limits, Stopped, Usage
from judge.types import Verdict

_START_S = 120.0
_TEMPLATE_S = 60.0
_SPAWN_S = 10.0
_UID_BASE = 20_000
_UIDS = 40_000
_ZYGOTE = ("zygote", "forking", "confine", "rootfs", "seccomp", "syscalls")


class Lost(Exception):
    """A process of the sandbox is gone; a fresh one may do."""


class ZygoteBackend:
    """Boxes forked from a zygote. Thread-safe. Nothing waits in the constructor."""

    def __init__(self, templates: int) -> None:
        self._limit = templates
        self._lock = threading.Lock()
        self._templates: OrderedDict[str, _Template] = OrderedDict()
        self._home = tempfile.TemporaryDirectory(prefix="judge-")
        self._groups = cgroup.find()
        self._base = _Base(self._home.name)

    @property
    def isolation(self) -> str:
        """What holds a box. Waits for the zygote; raises HostError."""
        kind = self._base.wait_ready()
        namespaces = "namespaces" if kind == "root" else "namespaces(user)"
        return "+".join([namespaces, self._groups.name if self._groups else "rlimits", "seccomp"])

    def spawn(self, bundle: Bundle, limits: Limits, slot: int) -> IsolatedProcess:
        """Fork a box, with one more try on a fresh template. Raises Stopped (SE), HostError."""
        for last in (False, True):
            template = self._template(bundle)
            try:
                return self._fork(template, limits, slot)
            except (Lost, OSError) as error:
                self._drop(template)
                if last:
                    detail = {"reason": "sandbox", "message": str(error)}
                    raise Stopped(Verdict.SE, detail, Usage()) from error
        raise AssertionError

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

    def _fork(self, template: _Template, limits: Limits, slot: int) -> IsolatedProcess:
        group = self._groups.make(limits.memory_mb) if self._groups else None
        try:
            return self._fork_into(group, template, limits, slot)
        except BaseException:
            if group is not None:
                group.remove()
            raise

    def _fork_into(
        self, group: cgroup.Group | None, template: _Template, limits: Limits, slot: int
    ) -> IsolatedProcess:
        root = self._base.wait_ready() == "root"
        uid = _UID_BASE + (self._base.pid * 64 + slot) % _UIDS if root else None
        order = {
            "namespace": True,
            "uid": uid,
            "cpu_s": math.ceil(limits.cpu_s),
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

    def _template(self, bundle: Bundle) -> _Template:
        with self._lock:
            template = self._templates.get(bundle.key)
            if template is None:
                template = self._templates[bundle.key] = _Template(bundle)
                while len(self._templates) > self._limit:
                    self._templates.popitem(last=False)[1].close()
            self._templates.move_to_end(bundle.key)
        try:
            template.start(self._living_base)
        except (Lost, OSError):
            self._drop(template)
            template = self._replacement(bundle)
            template.start(self._living_base)
        return template

    def _replacement(self, bundle: Bundle) -> _Template:
        with self._lock:
            return self._templates.setdefault(bundle.key, _Template(bundle))

    def _living_base(self) -> _Base:
        with self._lock:
            if not self._base.alive():
                self._base.close()
                self._base = _Base(self._home.name)
            return self._base

    def _drop(self, template: _Template) -> None:
        with self._lock:
            if self._templates.get(template.key) is template:
                del self._templates[template.key]
        template.close()


class _Base:
    """The base zygote's process."""

    def __init__(self, home: str) -> None:
        inside = make_bundle(None)
        sources = {name: text for name, text in inside.sources.items() if not name.startswith("minisgl")}
        here = Path(__file__).parent
        for name in _ZYGOTE:
            sources[f"judge.sandbox.{name}"] = (here / f"{name}.py").read_text(encoding="utf-8")
        ours, theirs = socket.socketpair()
        self._control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = tempfile.TemporaryFile()
        try:
            self._process = boot.start(
                theirs, home=home, stdout=subprocess.DEVNULL, stderr=self._errors.fileno(),
                extra=(control.fileno(),),
            )  # fmt: skip
            message = boot.message(
                sources=sources,
                packages=[name for name in inside.packages if not name.startswith("minisgl")],
                root="/",
                entry="judge.sandbox.zygote",
                options={"control": control.fileno(), "folders": _folders(), "assets": _assets()},
            )
            ours.sendall(message)
        finally:
            ours.close()
            theirs.close()
            control.close()
        self.pid = self._process.pid
        self._lock = threading.Lock()
        self._ready: str | None = None

    def wait_ready(self) -> str:
        """ "root" or "userns". Raises HostError when this host does not let the zygote isolate itself."""
        with self._lock:
            if self._ready is None:
                self._control.settimeout(_START_S)
                facts = json.loads(self._control.recv(4096) or b"{}")
                if "ready" not in facts:
                    raise HostError(facts.get("error") or self._last_error())
                self._ready = facts["ready"]
            return self._ready

    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def send(self, order: dict[str, object], fds: list[int]) -> None:
        """Ask for a template."""
        self.wait_ready()
        with self._lock:
            socket.send_fds(self._control, [json.dumps(order).encode()], fds)

    def close(self) -> None:
        """Kill it; the kernel then kills all of its process namespace."""
        self._process.kill()
        self._process.wait()
        self._control.close()
        self._errors.close()

    def _last_error(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "the zygote ended without a word"


class _Template:
    """The template process of one bundle; started by the first thread that needs it."""

    def __init__(self, bundle: Bundle) -> None:
        self.key = bundle.key
        self._bundle = bundle
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._closed = False

    def start(self, base: object) -> None:
        """Fork it from the base (a function that gives a living one) unless that is done. Raises Lost."""
        assert callable(base)
        with self._lock:
            if self._closed:
                raise Lost("the template was closed")
            if self._control is not None:
                return
            self._control = self._forked(base())

    def _forked(self, base: _Base) -> socket.socket:
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        birth, birth_in = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        memory = os.memfd_create("bundle")
        try:
            body = {"sources": self._bundle.sources, "packages": self._bundle.packages}
            with open(memory, "wb", closefd=False) as file:
                file.write(json.dumps(body).encode())
            base.send({"namespace": False}, [theirs.fileno(), memory, birth_in.fileno()])
            theirs.close()
            control.settimeout(_TEMPLATE_S)
            if not control.recv(4096):
                raise Lost("the template ended while it was starting")
        except BaseException:
            control.close()
            raise
        finally:
            theirs.close()
            os.close(memory)
            birth.close()
            birth_in.close()
        return control

    def send(self, order: dict[str, object], fds: list[int]) -> None:
        """Ask for a box. Raises Lost, OSError."""
        with self._lock:
            if self._control is None:
                raise Lost("the template was closed")
            socket.send_fds(self._control, [json.dumps(order).encode()], fds)

    def close(self) -> None:
        """Hang up: the process kills its boxes and ends."""
        with self._lock:
            self._closed = True
            if self._control is not None:
                self._control.close()
                self._control = None


def _folders() -> list[str]:
    stdlib = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    dynload = [str(Path(path, "lib-dynload")) for path in stdlib]
    found = [*stdlib, *dynload, *boot.package_folders()]
    return [path for path in dict.fromkeys(found) if Path(path).is_dir()]


def _assets() -> str:
    import importlib.util

    spec = importlib.util.find_spec("minisgl")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if Path(folder, "assets").is_dir():
            return str(Path(folder, "assets"))
    return ""
