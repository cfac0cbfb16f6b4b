"""Wheels for the browser's Python: from what is installed here, from sources, as they come."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import PurePosixPath

Files = dict[str, bytes]
"""Path below site-packages, and content."""

_UNNEEDED = re.compile(r"(^|/)(tests?|__pycache__)/|\.(pyc|pyi)$|(^|/)\.\.|^\.\.|^/")
_COMPILED = re.compile(r"\.(so|pyd|dylib)$")
_EPOCH = (1980, 1, 1, 0, 0, 0)


class NotPure(Exception):
    """An installed package has compiled code, so it is of no use in the browser."""


@dataclass(frozen=True)
class Wheel:
    """A wheel in memory. `imports` are its modules, `depends` the names of what it needs."""

    name: str
    version: str
    file: str
    content: bytes
    imports: tuple[str, ...]
    depends: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """Hash of the file, as the lock has it."""
        return hashlib.sha256(self.content).hexdigest()


def made(name: str, version: str, files: Files, depends: tuple[str, ...] = ()) -> Wheel:
    """A pure Python wheel of `files`; the same files always give the same bytes."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    about = "Wheel-Version: 1.0\nGenerator: minisgl-course\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    every = {**files, f"{info}/METADATA": metadata.encode(), f"{info}/WHEEL": about.encode()}
    record = "".join(f"{path},{_digest(data)},{len(data)}\n" for path, data in sorted(every.items()))
    every[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in sorted(every.items()):
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), data, zipfile.ZIP_DEFLATED)
    return Wheel(name, version, f"{stem}-py3-none-any.whl", memory.getvalue(), _modules(files), depends)


def installed(name: str, depends: tuple[str, ...] = (), *, has_fallback: bool = False) -> Wheel:
    """What pip installed as `name` here, without its tests and stubs. Licences stay.

    Args:
        has_fallback: its compiled code only makes it quicker, and is left out.

    Raises:
        importlib.metadata.PackageNotFoundError: it is not installed.
        NotPure: it has compiled code.
    """
    package = importlib.metadata.distribution(name)
    files: Files = {}
    for path in package.files or ():
        if _COMPILED.search(path.as_posix()):
            if has_fallback:
                continue
            raise NotPure(f"{name} has compiled code ({path}); the browser's Python cannot load it")
        if ".dist-info/" in path.as_posix():
            if "licen" in path.as_posix().lower():
                files[path.as_posix()] = path.read_binary()
        elif not _UNNEEDED.search(path.as_posix()):
            files[path.as_posix()] = path.read_binary()
    return made(name, package.version, files, depends)


def _modules(files: Files) -> tuple[str, ...]:
    tops = {PurePosixPath(path).parts[0].removesuffix(".py") for path in files if path.endswith(".py")}
    return tuple(sorted(tops))


def _digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
