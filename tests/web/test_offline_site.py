"""The site without a network, after one visit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page
from runner_fixtures import runner_site
from runner_site import StaticSite

from tools.runtime.offline import write_precache

__all__ = ["runner_site"]

HTML = """<!doctype html><meta charset="utf-8"><title>{title}</title><link rel="icon" href="data:,">
<textarea>{title}</textarea><script type="module" src="{up}offline.js"></script>"""
SCRIPT = """
const up = new URL(".", import.meta.url);
const workers = navigator.serviceWorker;
workers.register(new URL("sw.js", up)).then(async () => (await workers.ready).active.postMessage("keep"));
import("./lib/runner.js").then(({ createRunner }) => {
  window.runner = createRunner({ assets: new URL("assets/runtime/", up).href, lang: "en" });
});
"""
RECORD = """async () => {
  const site = location.href.replace(/(zh|en)\\/.*/, "");
  const found = await caches.match(new URL("precache.json?stored", site));
  return found ? await found.json() : { version: "", files: {} };
}"""

START_WORKER = """() => new Promise((resolve) => {
  const worker = new Worker("../../worker.js");
  worker.onmessage = ({ data }) => resolve(data);
  worker.onerror = () => resolve("refused");
})"""


@pytest.fixture
def site(runner_site: StaticSite, tmp_path: Path) -> Iterator[StaticSite]:
    """A small course on a host that cannot set headers, below a folder of it."""
    folder = tmp_path / "course"
    shutil.copytree(runner_site.folder / "lib", folder / "lib")
    shutil.copytree(runner_site.folder / "assets", folder / "assets")
    shutil.move(folder / "lib" / "sw.js", folder / "sw.js")
    (folder / "offline.js").write_text(SCRIPT)
    (folder / "worker.js").write_text("postMessage('started')")
    for lang in ("zh", "en"):
        for name in ("one", "two"):
            page = folder / lang / name / "index.html"
            page.parent.mkdir(parents=True)
            page.write_text(HTML.format(title=f"{lang} {name}", up="../../"))
    write_precache(folder)
    site = StaticSite(tmp_path, isolated=False)
    site.start()
    yield site
    site.stop()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context()
    context.set_default_timeout(90_000)
    yield context
    context.close()


def visit(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address)
    return page


def wait_stored(page: Page, *paths: str, version: str = "") -> dict[str, str]:
    """Until the background work has stored these files, of this version; what is stored then."""
    files: dict[str, str] = page.evaluate(
        f"""async ([paths, version]) => {{
            for (;;) {{
                const record = await ({RECORD})();
                const is = paths.every((path) => path in record.files);
                if (is && (version === "" || record.version === version)) return record.files;
                await new Promise((resolve) => setTimeout(resolve, 50));
            }}
        }}""",
        [list(paths), version],
    )
    return files


def test_after_one_visit_the_language_and_python_work_without_a_network(
    site: StaticSite, context: BrowserContext
) -> None:
    page = visit(context, f"{site.url}course/zh/one/")
    files = wait_stored(page, "zh/two/index.html", "assets/runtime/manifest.json")
    assert not any(path.startswith("en/") for path in files)

    site.stop()
    page.goto(f"{site.url}course/zh/two/?from=one#here")
    assert page.title() == "zh two"
    assert page.goto(f"{site.url}course/zh/one/index.html") is not None
    assert page.title() == "zh one"
    # the worker has isolated the page, which the host could not: Python can be interrupted
    assert page.evaluate("crossOriginIsolated")
    page.wait_for_function("window.runner")
    report = page.evaluate("window.runner.run('while True: pass', { seconds: 0.5 })")
    assert report["stopped"]["why"] == "time"
    assert page.evaluate("window.runner.run('1 + 1')")["value"] == "2"
    # and so it starts workers of the site, as the search has, only if they are isolated like it
    assert page.evaluate(START_WORKER) == "started"


def test_the_other_language_is_there_once_it_is_read(site: StaticSite, context: BrowserContext) -> None:
    page = visit(context, f"{site.url}course/zh/one/")
    wait_stored(page, "zh/two/index.html")
    page.goto(f"{site.url}course/en/one/")
    wait_stored(page, "zh/two/index.html", "en/two/index.html")


def test_a_new_version_shows_at_the_next_page_and_leaves_the_open_one_alone(
    site: StaticSite, context: BrowserContext
) -> None:
    page = visit(context, f"{site.url}course/zh/one/")
    wait_stored(page, "zh/two/index.html", "assets/runtime/manifest.json")
    page.fill("textarea", "half a function")
    before = len(site.requests)
    folder = site.folder / "course"
    (folder / "zh/two/index.html").write_text(HTML.format(title="zh two, anew", up="../../"))
    write_precache(folder)
    other = visit(context, f"{site.url}course/zh/two/")
    assert other.title() == "zh two, anew"
    version = json.loads((folder / "precache.json").read_text())["version"]
    wait_stored(page, version=version)
    assert page.input_value("textarea") == "half a function"
    fetched_again = [request.path for request in site.requests[before:] if "/runtime/" in request.path]
    assert [path for path in fetched_again if not path.endswith("manifest.json")] == []


def test_the_api_is_never_kept(site: StaticSite, context: BrowserContext) -> None:
    page = visit(context, f"{site.url}course/zh/one/")
    wait_stored(page, "zh/two/index.html")
    (site.folder / "course" / "api").mkdir()
    (site.folder / "course" / "api" / "v1").write_text("first")
    page.reload()
    ask: Any = "fetch('../../api/v1', { cache: 'no-store' }).then((answer) => answer.text(), () => 'refused')"
    assert page.evaluate(ask) == "first"
    (site.folder / "course" / "api" / "v1").write_text("second")
    assert page.evaluate(ask) == "second"
    site.stop()
    assert page.evaluate(ask) == "refused"
