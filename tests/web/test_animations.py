"""The animations in a real browser, under a strict Content Security Policy."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tools.animations.build import NAMES, build

ROOT = Path(__file__).resolve().parents[2]
PALETTE = ROOT / "web" / "styles" / "palette.css"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; font-src 'self'; "
    "img-src data:"
)
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]
ALL = "[...document.querySelectorAll('minisgl-animation')]"
KINDS = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".html": "text/html"}


@dataclass
class Gallery:
    """A static server; `pages` are served beside the built files."""

    folder: Path
    pages: dict[str, str] = field(default_factory=dict)
    url: str = ""

    def page(self, lang: str, theme: str, *names: str, inside: str = "text instead") -> str:
        """The address of a page with these animations."""
        elements = "".join(
            f'<section aria-label="{i}"><minisgl-animation name="{name}" lang="{lang}">{inside}'
            "</minisgl-animation></section>"
            for i, name in enumerate(names)
        )
        path = f"/{lang}-{theme}-{'-'.join(names)}.html"
        self.pages[path] = (
            f'<!doctype html><html lang="{lang}" data-theme="{theme}"><meta charset="utf-8"><title>t</title>'
            '<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
            '<link rel="stylesheet" href="palette.css"><script type="module" src="element.js"></script>'
            f"<main><h1>t</h1>{elements}</main></html>"
        )
        return self.url + path


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    made = Gallery(tmp_path_factory.mktemp("gallery"))
    build(made.folder)
    made.pages["/palette.css"] = PALETTE.read_text(encoding="utf-8")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            folder = PALETTE.parent if path.startswith("/fonts/") else made.folder
            file = folder / path.removeprefix("/")
            if path in made.pages:
                body = made.pages[path].encode()
            elif file.is_file():
                body = file.read_bytes()
            else:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", KINDS.get(Path(path).suffix, "text/plain") + "; charset=utf-8")
            self.send_header("Content-Security-Policy", POLICY)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield made
    server.shutdown()
    server.server_close()


def playing(page: Page) -> Locator:
    page.wait_for_selector("minisgl-animation .player")
    return page.locator("minisgl-animation").first


def position(page: Page) -> int:
    return int(page.locator(".pos").first.inner_text().split("/")[0])


def violations(page: Page) -> list[str]:
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": TAGS}}).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]
    ]


SETTINGS = [
    (lang, theme, width) for lang in ("zh", "en") for theme in ("light", "dark") for width in (390, 1280)
]
QUICK = {(name, *SETTINGS[-3 * (i % 2)]) for i, name in enumerate(NAMES)}
"""Of each animation one setting, by turns the phone's and the desktop's."""


@pytest.mark.parametrize(
    ("name", "lang", "theme", "width"),
    [
        pytest.param(name, *one, marks=() if (name, *one) in QUICK else pytest.mark.slow)
        for name in NAMES
        for one in SETTINGS
    ],
)
def test_axe_finds_nothing_at_any_step(
    gallery: Gallery, visit: Any, name: str, lang: str, theme: str, width: int
) -> None:
    learner = visit(lang, theme=theme, width=width)
    page = learner.open(gallery.page(lang, theme, name))
    playing(page)
    page.locator("summary").click()
    last = int(page.locator(".pos").inner_text().split("/")[1])
    for step in (0, last // 3, last // 2, last):
        page.evaluate("(k) => { document.querySelector('minisgl-animation').step = k; }", step)
        assert position(page) == step
        assert violations(page) == [], step
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    learner.clean()


@pytest.mark.parametrize("name", NAMES)
def test_keys_and_slider_go_to_any_step(gallery: Gallery, visit: Any, name: str) -> None:
    learner = visit("en")
    page = learner.open(gallery.page("en", "light", name))
    playing(page)
    slider = page.get_by_role("slider")
    last = int(slider.get_attribute("max") or 0)
    slider.focus()
    for key, step in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last), ("Home", 0)):
        page.keyboard.press(key)
        assert position(page) == step
        said = slider.get_attribute("aria-valuetext")
        assert said == f"{step}: {page.locator('.cap').inner_text()}"
    page.get_by_role("button", name="Step forward").click()
    page.keyboard.press("ArrowRight")  # with the focus on a button
    assert position(page) == 2
    slider.fill(str(last // 2))
    assert position(page) == last // 2
    learner.clean()


def test_it_plays_and_pauses(gallery: Gallery, browser: Any) -> None:
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    page.clock.install()
    page.goto(gallery.page("en", "light", "kv_pool"))
    playing(page)
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(950)
    assert position(page) == 1
    page.get_by_role("combobox").select_option("4")
    page.clock.run_for(2300)
    assert position(page) >= 8
    page.get_by_role("slider").press(" ")
    stopped = position(page)
    page.clock.run_for(5000)
    assert position(page) == stopped
    page.get_by_role("slider").press("End")
    page.get_by_role("button", name="Play").click()  # at the end it begins anew
    assert position(page) == 0
    context.close()


def test_who_wants_no_motion_gets_none(gallery: Gallery, visit: Any) -> None:
    page = visit("en").open(gallery.page("en", "light", "kv_pool"))
    playing(page)
    style = "getComputedStyle(document.querySelector('minisgl-animation').shadowRoot.querySelector('.box'))"
    assert page.evaluate(f"{style}.transitionDuration.split(', ').every((one) => parseFloat(one) === 0)")


def test_both_languages_and_the_switch_keep_the_step(gallery: Gallery, visit: Any) -> None:
    page = visit("zh").open(gallery.page("zh", "light", "kv_pool"))
    element = playing(page)
    element.evaluate("(one) => { one.step = 10; }")
    expect(page.locator(".cap")).to_have_text(
        "r1 的行改指缓存的那一份：16、20、24 变成 0、4、8。", use_inner_text=True
    )
    element.evaluate("(one) => { one.lang = 'en'; }")
    expect(page.locator(".cap")).to_have_text(
        "The row of r1 now names the cache’s copy: 16, 20, 24 become 0, 4, 8.", use_inner_text=True
    )
    assert position(page) == 10


def test_the_run_can_be_read(gallery: Gallery, visit: Any) -> None:
    page = visit("en").open(gallery.page("en", "light", "kv_pool"))
    playing(page)
    page.get_by_text("The run as text").click()
    steps = page.locator(".as-text li")
    expect(steps).to_have_count(44)
    expect(steps.last).to_have_text(
        "Idle. 9 pages free, 11 cached: all 20 accounted for.", use_inner_text=True
    )


def test_the_learner_s_run_shows_the_lines(gallery: Gallery, visit: Any) -> None:
    """What the exercise page does: its own trace, the code, and an event that names the line."""
    page = visit("en").open(gallery.page("en", "light", "kv_pool"))
    element = playing(page)
    element.evaluate(
        """(one) => {
            window.lines = [];
            one.addEventListener('minisgl-step', (event) => window.lines.push(event.detail.line));
            one.code = 'def cache_req(self, req, *, finished):\\n    insert()\\n    free()';
            one.trace = [
                {v: 1, seq: 0, t: 0, type: 'allocate', pages: [0, 4]},
                {v: 1, seq: 1, t: 0, type: 'insert', req: 0, line: 2, length: 5, cached_len: 0, new_len: 4,
                 locations: [0, 1, 2, 3, 4]},
                {v: 1, seq: 2, t: 0, type: 'free', req: 0, line: 3, pages: [4]},
            ];
        }"""
    )
    slider = page.get_by_role("slider")
    slider.press("End")
    slider.press("ArrowLeft")
    expect(page.locator(".did")).to_have_text(re.compile(r"^your line 3\nfree\(\)$"), use_inner_text=True)
    assert page.evaluate("window.lines.at(-1)") == 3
    expect(page.locator(".ticks .mine")).to_have_count(2)
    expect(page.locator(".ticks .call")).to_have_count(1)


def test_nothing_of_a_trace_becomes_html(gallery: Gallery, visit: Any) -> None:
    bad = "<img src=x onerror=window.hit=1>"
    learner = visit("en")
    page = learner.open(gallery.page("en", "light", *NAMES))
    for number in range(
        len(NAMES)
    ):  # a function to wait for would be compiled in the page, which its policy forbids
        page.locator("minisgl-animation").nth(number).locator("details").wait_for(state="attached")
    for number, name in enumerate(NAMES):
        events = [json.loads(line) for line in (gallery.folder / "traces" / f"{name}.jsonl").open()]
        for event in events:
            event |= {key: bad for key, value in event.items() if isinstance(value, str) and key != "type"}
        page.evaluate(
            """([number, trace, bad]) => {
                const one = document.querySelectorAll('minisgl-animation')[number];
                one.code = bad;
                one.trace = trace;
                one.shadowRoot.querySelector('details').open = true;
                for (let k = 0; k < trace.length; k += 1) one.step = k;
            }""",
            [number, events, bad],
        )
    assert page.evaluate(
        f"{ALL}.every((one) => !one.shadowRoot.querySelector('img')) && window.hit === undefined"
    )
    learner.clean()


def test_a_newer_trace_and_a_damaged_one_say_so(gallery: Gallery, visit: Any) -> None:
    page = visit("en").open(gallery.page("en", "light", "kv_pool"))
    element = playing(page)
    element.evaluate("""(one) => { one.trace = '{"v": 3, "type": "news"}\\n{half a line'; }""")
    notices = page.locator(".notice")
    newer = re.compile(r"^This trace comes from a newer version \(3\)\.")
    expect(notices.nth(0)).to_have_text(newer, use_inner_text=True)
    expect(notices.nth(1)).to_have_text(
        "One line of the trace is no event and was left out.", use_inner_text=True
    )
    element.evaluate("(one) => { one.trace = []; }")
    expect(page.locator(".cap")).to_have_text("Nothing was recorded in this run.", use_inner_text=True)


def test_what_cannot_be_played_keeps_its_text(gallery: Gallery, visit: Any) -> None:
    page = visit("en").open(gallery.page("en", "light", "no_such", inside="What it would show."))
    page.wait_for_selector("minisgl-animation[data-failed]")
    expect(page.locator("minisgl-animation")).to_have_text("What it would show.", use_inner_text=True)


def test_a_long_run_answers_at_once(gallery: Gallery, visit: Any) -> None:
    """20,000 events: not more ticks than can be seen, and no step takes longer than a blink."""
    page = visit("en").open(gallery.page("en", "light", "kv_pool"))
    element = playing(page)
    seconds = element.evaluate(
        """(one) => {
            const events = [{v: 1, seq: 0, t: 0, type: 'setup', pages: 4096, page_size: 16, cached: []}];
            for (let i = 0; events.length < 20000; i += 1) {
                const pages = [(i % 512) * 16];
                events.push({v: 1, seq: 0, t: 0, type: i % 1024 < 512 ? 'allocate' : 'free', pages});
                events.push({v: 1, seq: 0, t: 0, type: 'batch', phase: 'decode', uids: [], tokens: []});
                events.push({v: 1, seq: 0, t: 0, type: 'forward_end', phase: 'decode', tokens: 0});
            }
            one.trace = events;
            one.step = 1e6;
            const began = performance.now();
            for (const k of [0, 6000, 10, 3000, 5999, 1]) one.step = k;
            return (performance.now() - began) / 6000;
        }"""
    )
    assert page.locator(".ticks i").count() <= 240
    assert seconds < 0.5
    page.get_by_text("The run as text").click()
    expect(page.locator(".as-text li")).to_have_count(200)


def test_a_module_renders_into_any_element_as_anywidget_has_it(gallery: Gallery, visit: Any) -> None:
    """JupyterLab gives a model and an empty element, and takes the step back."""
    learner = visit("en")
    page = learner.open(gallery.page("en", "light"))
    page.evaluate(
        """async () => {
            const { default: widget } = await import('/kv_pool.js');
            const trace = await (await fetch('/traces/kv_pool.jsonl')).text();
            const fields = { trace, lang: 'zh', step: 3 };
            const listeners = {};
            window.saved = [];
            window.model = {
                get: (field) => fields[field],
                set: (field, value) => { fields[field] = value; },
                save_changes: () => window.saved.push(fields.step),
                on: (event, listener) => { listeners[event] = listener; },
                off: (event) => { delete listeners[event]; },
                change: (field, value) => { fields[field] = value; listeners[`change:${field}`]?.(); },
            };
            const el = document.querySelector('main').appendChild(document.createElement('div'));
            window.dispose = widget.render({ model: window.model, el });
        }"""
    )
    assert position(page) == 3
    expect(page.locator(".cap")).to_have_text(
        "分配新页：r0: 0 4 8 12、r1: 16 20 24 28。", use_inner_text=True
    )
    page.get_by_role("slider").press("ArrowRight")
    assert page.evaluate("window.saved") == [4]
    page.evaluate("window.model.change('step', 7)")
    assert position(page) == 7 and page.evaluate("window.saved") == [4]
    page.evaluate("window.dispose()")
    expect(page.locator(".player")).to_have_count(0)
    learner.clean()
