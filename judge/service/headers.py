"""The headers of every answer, by its address: what a page may load, who may load it, how long it is kept.

A static host that serves the same folder should send the same; web/README.md has the table.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_HASH = re.compile(r"'sha256-[A-Za-z0-9+/]{43}='")
_HASHED = re.compile(r"/assets/(?:app/(?:chunks|files)/|styles/|runtime/)[^/]*-[A-Za-z0-9_-]{8,}(?:\.\w+)+")
_EVERY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",  # with the line above: memory that workers may share
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
    "x-frame-options": "DENY",
}


def page_policy(frame: str = "") -> str:
    """What a page may load. `frame` is the hash of the script in the sandboxed frame that runs Python.

    That frame inherits the page's policy, so this allows WebAssembly and workers made of text; its own policy
    takes the network away.
    """
    return (
        f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'{frame and ' ' + frame}; style-src 'self'; "
        "img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self' blob:; "
        "manifest-src 'self'; base-uri 'none'; form-action 'self'"
    )


class SiteHeaders:
    """Headers of a service that serves the site built in `site`."""

    def __init__(self, site: Path) -> None:
        self._manifest = site / "assets" / "runtime" / "manifest.json"
        self._read: tuple[int, str] = (0, "")

    def of(self, path: str) -> dict[str, str]:
        """What an answer to `path` carries unless it says otherwise itself."""
        policy = page_policy(self._frame()) + "; frame-ancestors 'none'"
        return _EVERY | {"content-security-policy": policy, "cache-control": caching(path)}

    def _frame(self) -> str:
        """The hash that the built runtime names; read again when it is built again."""
        try:
            changed = self._manifest.stat().st_mtime_ns
            if changed != self._read[0]:
                self._read = (changed, frame_hash(json.loads(self._manifest.read_bytes())))
        except (OSError, ValueError):
            return ""
        return self._read[1]


def frame_hash(manifest: Any) -> str:
    """The hash in a runtime's manifest, fit for a policy; empty for whatever else is there."""
    found = manifest.get("frame", {}).get("script", "") if isinstance(manifest, dict) else ""
    return found if isinstance(found, str) and _HASH.fullmatch(found) else ""


def caching(path: str) -> str:
    """The API is never kept; what its contents name never changes; the rest is asked for anew each time."""
    if path.startswith("/api/"):
        return "no-store"
    if _HASHED.fullmatch(path):
        return "public, max-age=31536000, immutable"
    return "public, max-age=604800" if path.startswith("/assets/styles/fonts/") else "no-cache"
