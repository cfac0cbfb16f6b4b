"""The list of the site's files by which its service worker (web/src/sw) serves it without a network."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

NAME = "precache.json"
_LANGS = ("zh", "en")
_RUNTIME = ("assets", "runtime")


def write_precache(site: Path) -> None:
    """List all files of the built site with hashes: of each language, the tab's Python, what all share."""
    groups: dict[str, dict[str, str]] = {name: {} for name in ("common", *_LANGS, "runtime")}
    for path in sorted(site.rglob("*")):
        relative = path.relative_to(site)
        if not path.is_file() or relative.name.startswith(".") or relative.as_posix() in (NAME, "sw.js"):
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        groups[_group(relative)][relative.as_posix()] = digest
    version = hashlib.sha256(json.dumps(groups, sort_keys=True).encode()).hexdigest()[:16]
    (site / NAME).write_text(json.dumps({"version": version, "groups": groups}, indent=0), "utf-8")


def _group(path: Path) -> str:
    parts = path.parts[1:] if path.parts[0] == "book" else path.parts
    if parts[0] in _LANGS and len(parts) > 1:
        return parts[0]
    return "runtime" if path.parts[:2] == _RUNTIME else "common"
