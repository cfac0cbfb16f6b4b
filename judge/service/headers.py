"""The headers of every answer, by its address: what a page may load, who may load it, how long it is kept.

A static host that serves the same folder should send the same; web/README.md has the table.
"""

from __future__ import annotations

import re

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
# The book's search runs a WebAssembly module in a worker.
BOOK_POLICY = PAGE_POLICY.replace("script-src 'self'", "script-src 'self' 'wasm-unsafe-eval'")
# Where the learner's code runs: a sandboxed frame of an origin of its own, which reaches these files alone.
RUNTIME_POLICY = (
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval' blob:; connect-src 'self'; "
    "worker-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
_EVERY = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), interest-cohort=()",
    "x-frame-options": "DENY",
}
# A sandboxed frame has an opaque origin, so what it loads comes to it from elsewhere.
_RUNTIME = {
    "content-security-policy": RUNTIME_POLICY,
    "cross-origin-resource-policy": "cross-origin",
    "access-control-allow-origin": "*",
    "x-frame-options": "SAMEORIGIN",
}
_HASHED = re.compile(r"/assets/(?:app/(?:chunks|files)/|styles/)[^/]*-[A-Za-z0-9_-]{8,}\.\w+")


def headers_for(path: str) -> dict[str, str]:
    """What an answer to `path` carries unless it says otherwise itself."""
    own = {"content-security-policy": BOOK_POLICY if path.startswith("/book/") else PAGE_POLICY}
    if path.startswith("/assets/runtime/"):
        own = _RUNTIME
    return _EVERY | own | {"cache-control": caching(path)}


def caching(path: str) -> str:
    """The API is never kept; what its contents name never changes; the rest is asked for anew each time."""
    if path.startswith("/api/"):
        return "no-store"
    if _HASHED.fullmatch(path):
        return "public, max-age=31536000, immutable"
    return "public, max-age=604800" if path.startswith("/assets/styles/fonts/") else "no-cache"
