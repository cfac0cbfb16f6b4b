"""Start a Python process that has the sandbox's own code in memory and no path to the project's files.

The process gets one JSON message on an inherited socket: the sources, where packages are found, and which
function to enter. Its command line, environment and folder say nothing about the project.
"""

from __future__ import annotations

import importlib.util
import json
import os
import site
import socket
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

BOOT = """
import json, os, struct, sys
fd = int(sys.argv.pop())
def read(count):
    parts = []
    while count:
        parts.append(os.read(fd, count))
        count -= len(parts[-1])
        if not parts[-1]:
            os._exit(3)
    return b"".join(parts)
boot = json.loads(read(struct.unpack("<I", read(4))[0]))
sys.dont_write_bytecode = True
sys.path += boot["path"]
namespace = {"__name__": "importer"}
exec(compile(boot["sources"]["judge.sandbox.importer"], "importer", "exec"), namespace)
importer = namespace["install"](boot["sources"], boot["packages"], boot["root"])
entry, options = boot["entry"], boot["options"]
del boot, read, namespace
__import__(entry)
sys.modules[entry].enter(fd, options, importer)
"""
_NEEDED = ("torch", "numpy", "msgspec", "safetensors", "tokenizers", "triton", "flashinfer")


def environment(home: str) -> dict[str, str]:
    """All of the environment that the process gets: nothing of ours can leak from there."""
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
    libraries = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    return libraries | dict.fromkeys(threads, "1") | {
        "HOME": home, "TMPDIR": home, "PATH": "/nonexistent", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0",
    }  # fmt: skip


def package_folders() -> list[str]:
    """The folders that hold installed packages: ours of this interpreter, and wherever torch came from."""
    found = [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    found += [Path(entry) for entry in site.getsitepackages()]
    for name in _NEEDED:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin:
            path = Path(spec.origin)
            found.append(path.parents[1] if path.name == "__init__.py" else path.parent)
    return list(dict.fromkeys(str(path) for path in found if path.is_absolute() and path.is_dir()))


def message(
    *, sources: dict[str, str], packages: list[str], root: str, entry: str, options: dict[str, Any]
) -> bytes:
    """What the process reads first; then it calls ``enter(fd, options, importer)`` of module ``entry``."""
    boot = {
        "path": package_folders(),
        "sources": sources,
        "packages": packages,
        "root": root,
        "entry": entry,
        "options": options,
    }
    body = json.dumps(boot).encode()
    return struct.pack("<I", len(body)) + body


def start(
    sock: socket.socket,
    *,
    home: str,
    stdout: int,
    stderr: int,
    extra: tuple[int, ...] = (),
    more: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[bytes]:
    """Start the process with these descriptors; the caller sends ``message(...)`` on ``sock``'s other end.

    ``more``: variables of its environment beside those of ``environment``.
    """
    return subprocess.Popen(
        [sys.executable, "-S", "-s", "-P", "-c", BOOT, str(sock.fileno())],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        pass_fds=[sock.fileno(), *extra],
        env={**environment(home), **more},
        cwd=home,
        start_new_session=True,
    )
