"""The search index of one language, made by Pagefind, which cuts Chinese into words."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from tools.book.mdbook import BuildError
from tools.node import WEB

KEPT = ("pagefind.js", "pagefind-worker.js", "pagefind-entry.json", "LICENSE.txt")
"""Besides index, fragments and wasm: our own dialog needs nothing of Pagefind's interfaces."""


def index_pages(folder: Path) -> None:
    """Write `folder/pagefind` for the pages in `folder` that have an element marked as searchable.

    Raises:
        BuildError: Pagefind is not installed, or failed.
    """
    binary = find_binary()
    done = subprocess.run(
        [str(binary), "--site", str(folder), "--root-selector", "main", "--quiet"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    made = folder / "pagefind"
    if done.returncode or not (made / "pagefind-entry.json").is_file():
        raise BuildError(f"pagefind: {(done.stdout + done.stderr).strip() or 'wrote no index'}")
    shutil.copyfile(WEB / "node_modules" / "pagefind" / "LICENSE" / "LICENSE", made / "LICENSE.txt")
    for path in made.iterdir():
        if path.is_file() and path.name not in KEPT and path.suffix not in (".pf_meta", ".pagefind"):
            path.unlink()


def find_binary() -> Path:
    """Pagefind's binary in the npm packages of web/.

    Raises:
        BuildError: it is not there for this machine.
    """
    folder = WEB / "node_modules" / "@pagefind"
    found = sorted(folder.glob("*/bin/pagefind_extended*")) if folder.is_dir() else []
    for path in found:
        if path.suffix in ("", ".exe"):
            return path
    machine = f"{platform.system()} {platform.machine()}"
    raise BuildError(f"no pagefind for {machine} in {folder}; run: python tools/setup_env.py")
