"""A browser, and services for it: the real judge, and the scripted one of tests/judge/service."""

from __future__ import annotations

import dataclasses
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
SCRIPTED = ROOT / "tests" / "judge" / "service"
START_S = 120.0

sys.path.insert(0, str(SCRIPTED))

from course import make_course  # noqa: E402
from running import Running, quick, start  # noqa: E402

from tools.site.build import build  # noqa: E402


class Site:
    """A service in a process of its own, on a free port."""

    def __init__(self, command: list[str], folder: Path, **environ: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.url, self.folder = f"http://127.0.0.1:{self.port}", folder
        self._out, self._err = folder / "out", folder / "err"
        command = [part.replace("PORT", str(self.port)) for part in command]
        self._command, self._environ = command, os.environ | {"LC_ALL": "C.UTF-8"} | environ
        self.start()

    def start(self) -> None:
        with self._out.open("wb") as out, self._err.open("ab") as err:
            self._process = subprocess.Popen(
                self._command, stdout=out, stderr=err, cwd=ROOT, env=self._environ
            )
        deadline = time.monotonic() + START_S
        while "Ctrl-C" not in self._out.read_text():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(self._out.read_text() + self._err.read_text()[-3000:])
            time.sleep(0.05)

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(60) == 0


@pytest.fixture(scope="session")
def course_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site of the course, as `make site` builds it; parts that are built already are taken over."""
    folder = tmp_path_factory.mktemp("site") / "site"
    build(folder)
    return folder


@pytest.fixture(scope="session")
def plain_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the two exercises of the scripted judge: pages and app, no book, no Python in the tab."""
    folder = tmp_path_factory.mktemp("plain")
    build(folder / "site", course=make_course(folder / "course"), parts=())
    return folder / "site"


@pytest.fixture(scope="session")
def judge_site(course_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The service as `make run` starts it."""
    folder = tmp_path_factory.mktemp("judge")
    command = [sys.executable, "-m", "judge.service", "serve", "--port", "PORT", "--accept-weak-isolation"]
    site = Site([*command, "--var", str(folder / "var"), "--site", str(course_site)], folder)
    yield site
    site.stop()


@pytest.fixture
def serving_site(plain_site: Path, tmp_path: Path) -> Iterator[Site]:
    """`serve` in a process of its own, with a judge that does what the submitted text says."""
    make_course(tmp_path / "course")
    command = [sys.executable, str(SCRIPTED / "scripted_service.py"), "serve", str(tmp_path / "course")]
    path = os.pathsep.join([str(ROOT), str(SCRIPTED)])
    environ = {"PYTHONPATH": path, "MINISGL_SITE": str(plain_site)}
    site = Site([*command, str(tmp_path / "var"), "PORT", "strong"], tmp_path, **environ)
    yield site
    (tmp_path / "go").touch()
    site.stop()


@pytest.fixture
def scripted_site(plain_site: Path, tmp_path: Path) -> Iterator[Running]:
    """The same in this process; its exercises are 176 and 192."""
    settings = dataclasses.replace(quick(tmp_path), site=plain_site)
    site = start(settings, make_course(tmp_path / "course"), tmp_path)
    site.start_worker()
    yield site
    (tmp_path / "go").touch()
    site.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, with an empty profile."""
    if not CHROMIUM.exists():
        pytest.fail(
            f"{CHROMIUM} is missing: these tests drive a real browser. On Debian: apt-get update && "
            "apt-get install -y chromium fonts-noto-cjk",
            pytrace=False,
        )
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=list(FLAGS))
        yield chromium
        chromium.close()


class Watched:
    """A page whose console, errors and requests are written down."""

    def __init__(self, context: BrowserContext) -> None:
        self.page: Page = context.new_page()
        self.console: list[str] = []
        self.foreign: list[str] = []
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.console.append(str(error)))
        self.page.on("request", self._on_request)

    def _on_console(self, message: Any) -> None:
        if message.type in ("error", "warning") and "blocked by Playwright" not in message.text:
            self.console.append(message.text)

    def _on_request(self, request: Any) -> None:
        address = urlsplit(request.url)
        if address.scheme not in ("data", "blob", "about") and address.hostname != "127.0.0.1":
            self.foreign.append(request.url)

    def open(self, url: str) -> Page:
        self.page.goto(url)
        if "/exercises/" in url and url.rstrip("/")[-1].isdigit():
            self.page.wait_for_selector("#code .cm-content")
        return self.page

    def write(self, code: str, *, at: str = "#code") -> None:
        """Replace what is in the editor by pasting `code`."""
        content = self.page.locator(f"{at} .cm-content")
        content.focus()
        self.page.keyboard.press("Control+a")
        if code == "":
            self.page.keyboard.press("Delete")
            return
        content.evaluate(
            """(content, text) => {
              const clipboardData = new DataTransfer();
              clipboardData.setData("text/plain", text);
              const how = { clipboardData, bubbles: true, cancelable: true };
              content.dispatchEvent(new ClipboardEvent("paste", how));
            }""",
            code,
        )

    def code(self, *, at: str = "#code") -> str:
        """What is in the editor."""
        self.page.wait_for_selector(f"{at} .cm-content")
        return str(self.page.eval_on_selector(at, "(host) => host.value"))

    def submit(self, code: str) -> None:
        """Paste code and submit it with the keyboard."""
        self.write(code)
        self.page.keyboard.press("Control+Shift+Enter")

    def another(self) -> Watched:
        """A second window of the same browser."""
        return Watched(self.page.context)

    def verdict(self) -> str:
        """The words of the verdict, once its heading has the focus."""
        heading = self.page.wait_for_selector("#verdict-h:focus", timeout=60_000)
        assert heading is not None
        return heading.inner_text()

    def clean(self) -> None:
        """Nothing was complained of, and nothing was asked of another host."""
        assert (self.console, self.foreign) == ([], [])


@pytest.fixture
def visit(browser: Browser) -> Iterator[Any]:
    """Opens watched pages: `visit(lang, width=, theme=)`."""
    contexts: list[BrowserContext] = []

    def make(lang: str = "zh", *, width: int = 1440, theme: str = "light", **options: Any) -> Watched:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            locale="zh-CN" if lang == "zh" else "en-GB",
            color_scheme=theme,
            reduced_motion="reduce",
            service_workers=options.pop("service_workers", "block"),
            **options,
        )
        context.set_default_timeout(60_000)
        contexts.append(context)
        return Watched(context)

    yield make
    for context in contexts:
        context.close()
