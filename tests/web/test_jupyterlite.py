"""JupyterLite in a real browser, from plain files, with every other host out of reach."""

from __future__ import annotations

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tools.lite.build import build
from tools.notebooks.build import sources
from tools.runtime.sources import ROOT

pytestmark = pytest.mark.slow

START_MS = 120_000
RUN_MS = 240_000
_PEER, _DTYPE = "transformers is not available", "`torch.bfloat16` is not available"
CANNOT = {"00_tiny_engine": _PEER, "02_layers": _PEER, "03_models": _DTYPE, "06_engine": _PEER}
"""What a chapter's notebook asks for that no browser has; the cell says so."""

FAILED = ", ".join(
    f'.jp-OutputArea-output[data-mime-type="application/vnd.jupyter.{kind}"]' for kind in ("error", "stderr")
)
CHAPTERS = sorted({relative.stem for _, relative in sources()})


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


def served(folder: Path) -> Iterator[str]:
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def learners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What `make lite` builds."""
    folder = tmp_path_factory.mktemp("lite") / "lite"
    build(folder)
    yield from served(folder)


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The same with the solved notebooks."""
    folder = tmp_path_factory.mktemp("lite") / "lite"
    subprocess.run([sys.executable, "-m", "tools.notebooks.build"], cwd=ROOT, check=True, capture_output=True)
    build(folder, ROOT / "build" / "notebooks")
    yield from served(folder)


def opened(browser: Browser, url: str, path: str) -> tuple[Page, list[str]]:
    """The notebook, and the list of requests to other hosts, which are refused."""
    page, others = browser.new_page(), []

    def guard(route: object) -> None:
        address = route.request.url  # type: ignore[attr-defined]
        if address.startswith((url, "data:", "blob:")):
            route.continue_()  # type: ignore[attr-defined]
        else:
            others.append(address)
            route.abort()  # type: ignore[attr-defined]

    page.context.route("**/*", guard)
    page.goto(f"{url}/notebooks/index.html?path={path}")
    expect(page.locator(".jp-Notebook .jp-CodeCell").first).to_be_visible(timeout=START_MS)
    return page, others


def run_all(page: Page) -> None:
    """Ask for every cell to be run; what waits for it looks at what the cells show."""
    expect(page.locator(".jp-KernelName")).to_have_text("Python (Pyodide)", timeout=START_MS)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


@pytest.mark.parametrize(("lang", "says"), [("zh", "这些是样例"), ("en", "These were the samples")])
def test_a_learner_sees_figures_an_animation_and_what_the_samples_say(
    browser: Browser, learners: str, lang: str, says: str
) -> None:
    page, others = opened(browser, learners, f"{lang}/08_cache_manager.ipynb")
    image = page.locator(".jp-RenderedMarkdown img").first
    expect(image).to_be_visible(timeout=START_MS)
    assert image.evaluate("e => e.decode().then(() => e.naturalWidth)") > 300
    run_all(page)
    unwritten = page.locator(FAILED).filter(has_text="NotImplementedError: cache_req")
    expect(unwritten.first).to_be_visible(timeout=RUN_MS)
    expect(page.get_by_text("(8, 9) row [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] free 5")).to_be_visible()
    expect(page.locator(".jp-OutputArea-output svg").first).to_be_visible(timeout=START_MS)
    expect(page.get_by_text(says).first).to_be_visible()
    assert others == []
    page.context.close()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_notebook_runs_to_its_end(browser: Browser, solved: str, chapter: str) -> None:
    page, others = opened(browser, solved, f"en/{chapter}.ipynb")
    run_all(page)
    failed, cells = page.locator(FAILED), page.locator(".jp-CodeCell")
    if chapter in CANNOT:
        expect(failed.filter(has_text=CANNOT[chapter]).first).to_be_attached(timeout=RUN_MS)
    else:
        expect(cells.last.locator(".jp-OutputArea-output").or_(failed).first).to_be_attached(timeout=RUN_MS)
    assert [error for error in failed.all_inner_texts() if CANNOT.get(chapter, "\0") not in error] == []
    if chapter not in CANNOT:
        written = cells.filter(has_text="LLM").last.locator(".jp-OutputArea-output")
        assert written.count() > 0, "the last cells did not run"
    assert others == []
    page.context.close()
