"""A static site with nothing but the runner on it, and a page of it in a real Chromium."""

from __future__ import annotations

import contextlib
import http.server
import socket
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page

from judge.exercises import Exercise
from judge.source import interface
from tools.node import WEB, find_node, install_packages
from tools.runtime.build import build, frame_script_hash

PAGE = """<!doctype html><meta charset="utf-8"><title>Runner</title><link rel="icon" href="data:,">
<script type="module" src="page.js"></script>"""

SCRIPT = """
import { createRunner } from "./lib/runner.js";
window.events = [];
window.makeRunner = () => {
  const told = (kind) => (data) => window.events.push({ kind, data, at: performance.now() });
  window.runner = createRunner({ assets: "assets/runtime/", lang: "en" });
  window.runner.listen({
    onState: told("state"), onOutput: told("output"), onSample: told("sample"), onToken: told("token"),
  });
};
window.makeRunner();
"""


@dataclass(frozen=True)
class Request:
    """What the server was asked."""

    method: str
    path: str
    cookie: str


@dataclass
class StaticSite:
    """A folder, served as a static host does that can set headers; without `isolated`, as one that cannot."""

    folder: Path
    isolated: bool = True
    requests: list[Request] = field(default_factory=list)
    connections: set[socket.socket] = field(default_factory=set)

    def start(self) -> None:
        self._server = _Server(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._server.server_port}/"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Gone, with the connections that the browser keeps."""
        self._server.shutdown()
        self._server.server_close()
        for connection in [*self.connections]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True


class _Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, site: StaticSite, *args: Any) -> None:
        self.site = site
        super().__init__(*args, directory=str(site.folder))

    def handle(self) -> None:
        self.site.connections.add(self.connection)
        try:
            super().handle()
        except ConnectionError:
            pass
        finally:
            self.site.connections.discard(self.connection)

    def do_GET(self) -> None:
        self._note()
        super().do_GET()

    def do_POST(self) -> None:
        self._note()
        self.send_response(204)
        self.send_header("access-control-allow-origin", "*")
        self.end_headers()

    def _note(self) -> None:
        self.site.requests.append(Request(self.command, self.path, self.headers.get("cookie", "")))

    def end_headers(self) -> None:
        self.send_header("cache-control", "no-cache")
        if self.site.isolated:
            self.send_header("cross-origin-opener-policy", "same-origin")
            self.send_header("cross-origin-embedder-policy", "require-corp")
            self.send_header("cross-origin-resource-policy", "same-origin")
        if self.path.partition("?")[0].endswith((".html", "/")):
            self.send_header("content-security-policy", page_policy())
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


def page_policy() -> str:
    """The least that a page of the site has to allow for the runner."""
    return (
        f"default-src 'none'; script-src 'self' 'wasm-unsafe-eval' {frame_script_hash()}; "
        "worker-src 'self' blob:; connect-src 'self'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def make_site(folder: Path) -> None:
    """Build the runtime, the runner and a page with it."""
    install_packages()
    build(folder / "assets" / "runtime")
    vite = WEB / "node_modules" / "vite" / "bin" / "vite.js"
    find_node().run(str(vite), "build", "--config", "vite.runner.config.ts", "--outDir", str(folder / "lib"))
    (folder / "index.html").write_text(PAGE)
    (folder / "page.js").write_text(SCRIPT)


class RunnerPage:
    """A page with a runner; `problems` are errors of the page and what its console says."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.page: Page = context.new_page()
        self.page.set_default_timeout(120_000)
        self.problems: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.goto(url)
        self.page.wait_for_function("window.runner")

    def samples(self, exercise: Exercise, code: str, **options: Any) -> Any:
        return self.call("samples", spec(exercise), code, options)

    def generate(self, request: dict[str, Any], **options: Any) -> Any:
        return self.call("generate", request, options)

    def run(self, code: str, **options: Any) -> Any:
        return self.call("run", code, options)

    def lint(self, code: str) -> Any:
        return self.call("lint", code)

    def call(self, name: str, *args: Any) -> Any:
        return self.page.evaluate("([name, args]) => window.runner[name](...args)", [name, list(args)])

    def events(self, kind: str) -> list[Any]:
        """What listeners were told, since the last time that they were asked for."""
        found = self.page.evaluate("window.events.splice(0)")
        return [event["data"] for event in found if event["kind"] == kind]


def open_page(browser: Browser, site: StaticSite) -> RunnerPage:
    return RunnerPage(browser.new_context(), site.url)


def spec(exercise: Exercise) -> dict[str, Any]:
    """`ExerciseSpec` of runner/types.ts."""
    return {
        "id": exercise.id,
        "slug": exercise.slug,
        "target": exercise.target,
        "place": exercise.place,
        "members": list(exercise.members),
        "interface": interface(exercise),
        "browser": exercise.browser,
        "samples": exercise.samples,
    }
