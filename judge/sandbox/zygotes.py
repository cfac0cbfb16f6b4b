"""The zygote's processes as the judge holds them: the base, and the templates forked from it."""

from __future__ import annotations

import importlib.util
import json
import os
import select
import socket
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from judge.sandbox import boot
from judge.sandbox.bundle import ENGINES, Bundle, make_bundle
from judge.sandbox.limits import HostError

_START_S = 120.0
_TEMPLATE_S = 60.0
_ZYGOTE = ("zygote", "forking", "confine", "hugepages", "rootfs", "seccomp", "syscalls")


class Lost(Exception):
    """A process of the sandbox is gone; a fresh one may do."""


class Base:
    """The base zygote's process."""

    def __init__(self, home: str) -> None:
        inside = make_bundle(None)
        sources = {name: text for name, text in inside.sources.items() if not name.startswith(ENGINES)}
        here = Path(__file__).parent
        for name in _ZYGOTE:
            sources[f"judge.sandbox.{name}"] = (here / f"{name}.py").read_text(encoding="utf-8")
        ours, theirs = socket.socketpair()
        self._control, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        try:
            self._process = boot.start(
                theirs, home=home, stdout=subprocess.DEVNULL, stderr=self._errors.fileno(),
                extra=(control.fileno(),),
            )  # fmt: skip
            message = boot.message(
                sources=sources,
                packages=[name for name in inside.packages if not name.startswith(ENGINES)],
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
        poll = select.poll()
        poll.register(self._control, 0)  # asks for hang-ups alone
        return self._process.poll() is None and not poll.poll(0)

    def send(self, order: Mapping[str, object], fds: list[int]) -> None:
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


class Template:
    """The template process of one bundle; started by the first thread that needs it."""

    def __init__(self, bundle: Bundle) -> None:
        self.key = bundle.key
        self._bundle = bundle
        self._lock = threading.Lock()
        self._control: socket.socket | None = None
        self._closed = False

    def start(self, base: Callable[[], Base]) -> None:
        """Fork it from the base (a function that gives a living one) unless that is done. Raises Lost."""
        with self._lock:
            if self._closed:
                raise Lost("the template was closed")
            if self._control is not None:
                return
            self._control = self._forked(base())

    def _forked(self, base: Base) -> socket.socket:
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

    def send(self, order: Mapping[str, object], fds: list[int]) -> None:
        """Ask for a box. Raises Lost, OSError."""
        with self._lock:
            if self._control is None:
                raise Lost("the template was closed")
            socket.send_fds(self._control, [json.dumps(order).encode()], fds)

    def close(self) -> None:
        """Hang up: the process ends with the last of its boxes."""
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
    spec = importlib.util.find_spec("minisgl")
    for folder in (spec.submodule_search_locations or []) if spec else []:
        if Path(folder, "assets").is_dir():
            return str(Path(folder, "assets"))
    return ""
