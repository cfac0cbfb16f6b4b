"""A part of the site: built anew only when what it is made of has changed."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.folders import replace_folder

_NOT_INPUT = frozenset({"__pycache__", "node_modules", ".venv", "build", ".git"})


class SiteError(Exception):
    """A part could not be built. `str()` says which, what happened and what to do."""


def fingerprint(root: Path, inputs: Iterable[str], extra: str = "") -> str:
    """One string for the contents of `inputs`, files or folders below `root`, and of `extra`."""
    digest = hashlib.sha256(extra.encode())
    for name in sorted(inputs):
        for path in _files(root / name):
            digest.update(f"\n{path.relative_to(root).as_posix()}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _files(path: Path) -> Iterable[Path]:
    if path.is_file():
        yield path
    elif path.is_dir():
        for folder, folders, files in os.walk(path):
            folders[:] = sorted(set(folders) - _NOT_INPUT)
            for name in sorted(files):
                if not name.endswith(".pyc"):
                    yield Path(folder) / name


def build_part(store: Path, name: str, key: str, build: Callable[[Path], None]) -> tuple[Path, bool]:
    """The folder with what `build` makes, and whether it was made now. `store` keeps it between builds.

    It is made aside and then renamed, so that a build that is broken off leaves the last good one.
    """
    folder, stamp = store / name, store / f"{name}.key"
    if folder.is_dir() and stamp.is_file() and stamp.read_text() == key:
        return folder, False
    store.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=store, prefix=f".{name}-") as scratch:
        fresh = Path(scratch) / name
        build(fresh)
        stamp.unlink(missing_ok=True)
        replace_folder(fresh, folder)
    stamp.write_text(key)
    return folder, True


def place(source: Path, target: Path) -> None:
    """`source` at `target`, as hard links where the file system has them: no second copy of large files."""
    shutil.copytree(source, target, copy_function=_link, dirs_exist_ok=True)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
