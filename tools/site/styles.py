"""The site's style sheets: one for every page and one for each kind of page, named by their contents."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tools.book.site import SHARED

BUNDLES = {
    "site": SHARED,
    "exercise": ("desk.css", "exercise.css"),
    "map": ("map.css",),
    "tools": ("desk.css", "tools.css"),
}
INLINE = ("desk.css", "inline.css")
"""For the exercise inside a chapter. The book names it: that name stays."""


def write_styles(source: Path, out: Path) -> dict[str, str]:
    """Write the bundles into `out`; their file names by bundle."""
    out.mkdir(parents=True, exist_ok=True)
    names = {}
    for bundle, files in BUNDLES.items():
        text = join(source, files)
        names[bundle] = f"{bundle}-{hashlib.sha256(text.encode()).hexdigest()[:10]}.css"
        (out / names[bundle]).write_text(text, encoding="utf-8")
    (out / "inline.css").write_text(join(source, INLINE), encoding="utf-8")
    return names


def join(source: Path, files: tuple[str, ...]) -> str:
    """The files one after another, without comments and indentation."""
    text = "\n".join((source / name).read_text(encoding="utf-8") for name in files)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"
