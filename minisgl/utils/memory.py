"""How much memory the machine has left."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_SMALL_MACHINE = 2 * 2**30
_TAB = 256 * 2**20  # what a browser's tab gives without a phone closing it


def available_memory(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Bytes that programs could still get. Where nobody says, the guess of a small machine.

    Linux fills free memory with copies of files, which it gives up at once: "MemAvailable" counts them, and
    what is strictly free says little.
    """
    if sys.platform == "emscripten":
        return _TAB
    try:
        for line in meminfo.read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _SMALL_MACHINE
