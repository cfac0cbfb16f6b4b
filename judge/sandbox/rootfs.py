"""The file system that boxes see: Python's library, installed packages, the bundled models, and /box.

Built once by the zygote in a mount namespace of its own, read-only, and then made its root: the host's tree
is no longer reachable from any process of the sandbox.
"""

from __future__ import annotations

import os
from pathlib import Path

from judge.sandbox import syscalls as sys_

BOX = "/box"
_MOUNTPOINT = "/sys"
# Any folder that exists on every host and holds nothing that is bound below: so no folder is left behind.
_DEVICES = ("null", "zero", "urandom")
_MINE = ("minisgl", "judge", "solutions", "practice")
_KEPT = {os.ST_NODEV: sys_.MS_NODEV, os.ST_NOEXEC: sys_.MS_NOEXEC}


def build(folders: list[str], assets: str) -> None:
    """Mount a new root with ``folders`` at their own places. Packages of this project are hidden in them.

    ``assets``, a folder or "", appears as /minisgl/assets.
    """
    sys_.mount(None, "/", None, sys_.MS_REC | sys_.MS_PRIVATE)
    sys_.mount("tmpfs", _MOUNTPOINT, "tmpfs", sys_.MS_NOSUID | sys_.MS_NODEV, "size=1m,mode=755")
    for name in ("box", "dev", "old", "empty"):
        Path(_MOUNTPOINT, name).mkdir()
    for folder in _outermost(folders):
        _bind(folder, f"{_MOUNTPOINT}{folder}")
        _hide_all(folder, folders)
    if assets:
        _bind(assets, f"{_MOUNTPOINT}/minisgl/assets")
    for name in _DEVICES:
        target = Path(_MOUNTPOINT, "dev", name)
        target.touch()
        sys_.mount(f"/dev/{name}", str(target), None, sys_.MS_BIND)


def enter() -> None:
    """Make what ``build`` mounted the root, read-only, and let go of the former one."""
    os.chdir(_MOUNTPOINT)
    sys_.pivot_root(".", "old")
    os.chdir("/")
    sys_.umount("/old", sys_.MNT_DETACH)
    flags = sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY | sys_.MS_NOSUID | sys_.MS_NODEV
    sys_.mount(None, "/", None, flags)


def mount_box(megabytes: int, inodes: int = 256) -> None:
    """Mount this box's own scratch folder (in its own mount namespace) and stand in it."""
    flags = sys_.MS_NOSUID | sys_.MS_NODEV | sys_.MS_NOEXEC | sys_.MS_NOSYMFOLLOW
    sys_.mount("tmpfs", BOX, "tmpfs", flags, f"size={megabytes}m,nr_inodes={inodes},mode=777")
    os.chdir(BOX)


def _bind(source: str, target: str) -> None:
    Path(target).mkdir(parents=True, exist_ok=True)
    sys_.mount(source, target, None, sys_.MS_BIND | sys_.MS_REC)
    # Without the flags of the source the kernel refuses the remount inside a user namespace.
    kept = sum(flag for bit, flag in _KEPT.items() if os.statvfs(target).f_flag & bit)
    flags = sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY | sys_.MS_NOSUID | sys_.MS_NODEV | kept
    sys_.mount(None, target, None, flags)


def _hide_all(folder: str, wanted: list[str]) -> None:
    """Cover this project where it is installed as a package, and package folders that nobody asked for."""
    for inner in (folder, *(item for item in wanted if item.startswith(f"{folder}/"))):
        for name in _MINE:
            _hide(f"{inner}/{name}")
    for name in ("site-packages", "dist-packages"):
        if f"{folder}/{name}" not in wanted:
            _hide(f"{folder}/{name}")


def _hide(path: str) -> None:
    target = f"{_MOUNTPOINT}{path}"
    if Path(target).is_dir():
        sys_.mount(f"{_MOUNTPOINT}/empty", target, None, sys_.MS_BIND)
        flags = sys_.MS_REMOUNT | sys_.MS_BIND | sys_.MS_RDONLY | sys_.MS_NOSUID | sys_.MS_NODEV
        sys_.mount(None, target, None, flags)


def _outermost(folders: list[str]) -> list[str]:
    real = list(dict.fromkeys(folders))
    return [one for one in real if not any(one.startswith(f"{other}/") for other in real)]
