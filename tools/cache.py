"""Where what is fetched once is kept between builds."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`MINISGL_CACHE`, or a folder in the user's cache: the same as the engine's, without importing it."""
    given = os.environ.get("MINISGL_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "minisgl"
