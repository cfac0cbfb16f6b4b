"""The app's own checks: types, its tests of logic, and how much a page has to load."""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path

from tools.node import find_node, install_packages

MOST_KB = 300
"""Of scripts that one page loads, compressed, without Python in the tab."""


def test_types_are_clean_and_the_logic_is_right() -> None:
    install_packages()
    node = find_node()
    for script in ("check", "test"):
        try:
            node.run_npm("run", "--silent", script, capture=True)
        except subprocess.CalledProcessError as error:
            raise AssertionError(f"npm run {script}:\n{error.stdout}\n{error.stderr}") from None


def test_a_page_loads_little(plain_site: Path) -> None:
    """Every script that a page can ever load, not only those that it begins with."""
    app = plain_site / "assets" / "app"
    for entry in ("exercise", "inline", "map", "playground", "cards", "progress", "site"):
        seen: set[Path] = set()
        waiting = [app / f"{entry}.js"]
        while waiting:
            file = waiting.pop()
            if file in seen:
                continue
            seen.add(file)
            text = file.read_text(encoding="utf-8")
            named = re.findall(r"""["'`](\.{1,2}/[\w./-]+\.js)["'`]""", text)
            waiting += [path for name in named if (path := (file.parent / name).resolve()).is_file()]
        size = sum(len(gzip.compress(file.read_bytes())) for file in seen)
        assert size <= MOST_KB * 1024, f"{entry}: {size / 1024:.0f} kB of {len(seen)} files"
