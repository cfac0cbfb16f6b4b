"""Folders that are made aside and put in their place whole."""

from __future__ import annotations

import shutil
from pathlib import Path


def replace_folder(fresh: Path, target: Path) -> None:
    """Put the folder `fresh` where `target` is; the old one is there until then, and is deleted after.

    Both have to be on one file system.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    old = target.with_name(f".{target.name}-old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    fresh.rename(target)
    shutil.rmtree(old, ignore_errors=True)
