"""The book as a static host serves it, under the policy that the service sends."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judge.service.headers import page_policy
from tools.book.build import build
from tools.book.site import publish_shared


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files with the right types and the book's policy, in silence."""

    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def end_headers(self) -> None:
        self.send_header("content-security-policy", f"{page_policy()}; frame-ancestors 'none'")
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """The address at which `folder` is served."""
    handler = functools.partial(Handler, directory=str(folder))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def make_site(folder: Path) -> Path:
    """A site with the book in a folder of its own, as on a host that has other things, too."""
    site = folder / "host" / "course"
    build(site / "book")
    publish_shared(site / "assets")
    return site.parent
