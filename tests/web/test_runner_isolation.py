"""Learner code in the tab reaches neither the network, nor the site's origin, nor the page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Browser
from runner_fixtures import runner, runner_site
from runner_site import RunnerPage, StaticSite, open_page

from judge.exercises import find
from judge.solution import solution_text

__all__ = ["runner", "runner_site"]

# Each expression's promise has to be refused. BASE is the site's address.
REACHES = {
    "fetch": "fetch('BASEapi')",
    "fetch with cookies": "fetch('BASEapi', {credentials: 'include', mode: 'no-cors'})",
    "fetch elsewhere": "fetch('http://192.0.2.1/')",
    "beacon": "new Promise((a, b) => navigator.sendBeacon('BASEapi') ? a('sent') : b('refused'))",
    "XMLHttpRequest": (
        "new Promise((a, b) => { const x = new XMLHttpRequest();"
        " x.onload = a; x.onerror = b; x.open('GET', 'BASEapi'); x.send() })"
    ),
    "synchronous XMLHttpRequest": (
        "new Promise(a => { const x = new XMLHttpRequest();"
        " x.open('GET', 'BASEapi', false); x.send(); a(1) })"
    ),
    "WebSocket": (
        "new Promise((a, b) => { const w = new WebSocket('BASEapi'.replace('http', 'ws'));"
        " w.onopen = a; w.onerror = b })"
    ),
    "EventSource": (
        "new Promise((a, b) => { const e = new EventSource('BASEapi'); e.onopen = a; e.onerror = b })"
    ),
    "importScripts": "new Promise(a => a(importScripts('BASEpage.js')))",
    "import of the site": "import('BASEpage.js')",
    "import of data": "import('data:text/javascript,export default 1')",
    "import of a blob": (
        "import(URL.createObjectURL(new Blob(['export default 1'], {type: 'text/javascript'})))"
    ),
    "a worker of the site": (
        "new Promise((a, b) => { const w = new Worker('BASEpage.js'); w.onerror = b; w.onmessage = a })"
    ),
    "a worker of data": (
        "new Promise((a, b) => { const w = new Worker('data:text/javascript,postMessage(1)');"
        " w.onerror = b; w.onmessage = a })"
    ),
    "fetch in a worker of its own": (
        "new Promise((a, b) => { const w = new Worker(URL.createObjectURL(new Blob(["
        "'fetch(\"BASEapi\").then(() => postMessage(1), () => postMessage(0))'])));"
        " w.onerror = b; w.onmessage = m => m.data ? a(1) : b(0) })"
    ),
    "IndexedDB": ("new Promise((a, b) => { const r = indexedDB.open('x'); r.onsuccess = a; r.onerror = b })"),
    "Cache": "caches.keys()",
    "files": "navigator.storage.getDirectory()",
    "cookies": "cookieStore.getAll()",
    "a window": "new Promise(a => a(window.open('BASE')))",
    "the top": "new Promise(a => a(top.location = 'BASE'))",
    "the document": "new Promise(a => a(document.cookie))",
    "local storage": "new Promise(a => a(localStorage.length))",
    "service worker": "navigator.serviceWorker.register('BASEsw.js')",
}


FROM_PYTHON = """
import js, urllib.request
from pyodide.http import open_url

reached = []

def attempt(name, reach):
    try:
        reach()
    except BaseException:
        return
    reached.append(name)

attempt("urlopen", lambda: urllib.request.urlopen(ADDRESS + "api"))
attempt("open_url", lambda: open_url(ADDRESS + "api"))
attempt("importScripts", lambda: js.importScripts(ADDRESS + "page.js"))
attempt("eval", lambda: js.eval("1"))
attempt("Function", lambda: js.Function.new("return 1")())
for name in ("window", "document", "parent", "top", "opener", "localStorage", "sessionStorage", "open"):
    attempt(name, lambda: getattr(js, name))
js.fetch(ADDRESS + "api")
js.setTimeout
reached
"""


@pytest.fixture(scope="module")
def worker(runner: RunnerPage) -> Any:
    """The worker itself, so that what is tried is tried with JavaScript and not with Python's view of it."""
    runner.page.evaluate("document.cookie = 'session=secret; SameSite=Lax'")
    (worker,) = [one for one in runner.page.workers if one.url.startswith("blob:")][:1]
    return worker


@pytest.mark.parametrize("name", REACHES)
def test_the_worker_is_refused(name: str, worker: Any, runner: RunnerPage, runner_site: StaticSite) -> None:
    before = len(runner_site.requests)
    expression = REACHES[name].replace("BASE", runner_site.url)
    attempt = (
        f"async () => {{ try {{ await ({expression}); return 'reached' }} catch {{ return 'refused' }} }}"
    )
    outcome = worker.evaluate(
        f"() => Promise.race([({attempt})(), new Promise(r => setTimeout(() => r('no answer'), 5000))])"
    )
    assert outcome == "refused"
    assert runner_site.requests[before:] == []


def test_python_reaches_no_more_than_the_worker(runner: RunnerPage, runner_site: StaticSite) -> None:
    before = len(runner_site.requests)
    report = runner.run(f"ADDRESS = {runner_site.url!r}\n" + FROM_PYTHON)
    assert (report["error"], report["value"]) == (None, "[]")
    assert runner_site.requests[before:] == []


FORGED = [
    '"no json"', "'{}'", "'[]'", "'null'", "42", "None", "'x' * 100",
    "js.Object.new()", "js.ArrayBuffer.new(10)",
    *(
        repr(json.dumps(message))
        for message in (
            {"type": "ready"},
            {"type": "loaded"},
            {"type": "dead", "message": "x"},
            {"type": "step", "step": "numpy"},
            {"type": "end", "id": "1", "data": {}},
            {"type": "end", "id": 1, "data": None},
            {"type": "sample", "id": "1", "data": {"name": "<img src=x onerror=alert(1)>"}},
            {"type": "token", "id": "1", "data": {"index": -1, "text": 5}},
            {"type": "__proto__", "id": "1"},
            {"kind": "active", "number": 99},
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize("message", FORGED)
def test_a_forged_message_changes_nothing(message: str, runner: RunnerPage) -> None:
    """Where it costs the run its worker, the page says so and the next run is as before."""
    report = runner.run(f"import js\njs.self.postMessage({message})\n'done'")
    assert report["value"] == "'done'" or report["stopped"]
    exercise = find("176")
    report = runner.samples(exercise, solution_text(exercise))
    assert all(result["ok"] for result in report["results"])
    assert len(report["results"]) > 1
    assert runner.problems == []


def test_what_reports_a_run_cannot_be_replaced(runner: RunnerPage) -> None:
    """The worker took what it needs before learner code ran."""
    code = (
        "import js\n"
        "def swallow(*args): return '{}'\n"
        "from pyodide.ffi import create_proxy\n"
        "js.self.postMessage = js.JSON.stringify = js.String = create_proxy(swallow)\n"
        "1 + 1"
    )
    assert runner.run(code)["value"] == "2"
    assert runner.run("'next'")["value"] == "'next'"
    assert runner.problems == []


def test_a_page_without_the_scripts_hash_says_that_python_does_not_start(
    browser: Browser, runner_site: StaticSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner_site.frame_script_hash", lambda: "'sha256-AAAA'")
    page = open_page(browser, runner_site)
    page.page.evaluate(
        "() => { const set = window.setTimeout; window.setTimeout = (f, ms) => set(f, ms / 20) }"
    )
    error = page.page.evaluate("window.runner.warm().catch(error => error.message)")
    assert "frame" in error
    states = page.events("state")
    assert states[-1]["phase"] == "failed"
    assert "Reload" in states[-1]["message"]["en"]
    page.page.context.close()
