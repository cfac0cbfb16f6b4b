"""A learner's code plays where the engine does not call it: 178 alone, 177 on a run of the engine."""

from __future__ import annotations

import re
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from judge.exercises import find
from judge.i18n import t
from judge.solution import solution_text

POOL = solution_text(find("178"))
FOOTPRINT = solution_text(find("177"))
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]


def word(name: str, lang: str, **fields: object) -> str:
    return t(f"web.ui_{name}", lang, **fields)


def pool_with(method: str) -> str:
    """The reference of 178, with one method in place of its own."""
    return f"{POOL}\n\nclass Odd(BlockPool):\n    {method}\n\nBlockPool = Odd\n"


def said(page: Page, text: str) -> None:
    """In the run's status line; Python may have to be loaded first."""
    expect(page.locator("#run > p[role='status']")).to_contain_text(text, timeout=60_000)


def play(page: Page, lang: str, button: str = "run_own") -> None:
    page.get_by_role("button", name=word(button, lang)).click()


def to_step(page: Page, key: str) -> None:
    page.locator("minisgl-animation").get_by_role("slider").press(key)


def violations(page: Page) -> list[str]:
    page.evaluate("scrollTo(0, 0)")
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": TAGS}}).response["violations"]
    return [f"{one['id']}: {node['target']}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize(
    ("lang", "theme", "width"), [("zh", "dark", 390), ("en", "light", 1440)], ids=["zh", "en"]
)
def test_a_pool_is_played_step_by_step(
    judge_site: Any, visit: Any, lang: str, theme: str, width: int
) -> None:
    learner = visit(lang, theme=theme, width=width)
    page = learner.open(f"{judge_site.url}/{lang}/exercises/178/")
    run = page.locator("#run")
    expect(run).to_contain_text(word("run_none_own", lang))
    loaded: list[str] = []
    page.on("request", lambda request: loaded.append(request.url))

    # Not written yet: the line, and no animation.
    play(page, lang)
    said(page, "NotImplementedError")
    expect(run.locator("minisgl-animation")).to_have_count(0)

    # The samples pass, and then the own class moves the tiles.
    learner.write(POOL)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".sample-list > .ok")).to_have_count(5, timeout=60_000)
    play(page, lang)
    said(page, word("run_own_steps", lang, n=18))
    animation = run.locator("minisgl-animation")
    expect(animation.locator(".tile")).to_have_count(4)
    expect(animation.locator(".cap")).to_have_text(t("animation.block_pool_new", lang, n=4))
    to_step(page, "End")
    expect(animation.locator(".pos")).to_have_text("18 / 18")
    to_step(page, "ArrowLeft")
    expect(animation.locator(".deed")).to_have_text("free(0)")
    expect(animation.locator(".did")).to_contain_text("def free")
    expect(page.locator("#code .ran")).to_be_visible()
    expect(animation.locator(".alert")).to_have_count(0)
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not [url for url in loaded if "model-" in url], "the pool needs no model"

    # A hit that leaves the block in the queue: the step says so, and the one before is right.
    learner.write(POOL.replace("self.queue.remove(block)", "pass"))
    play(page, lang)
    expect(animation.locator(".ticks .bad").first).to_be_visible()
    for _ in range(9):
        to_step(page, "ArrowRight")
    expect(animation.locator(".cap.alert")).to_contain_text(
        t("animation.block_pool_queued_held", lang, blocks=0)
    )
    expect(animation.locator(".tile.lost")).to_have_count(1)
    assert violations(page) == []
    learner.clean()


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_footprint_is_measured_on_a_run_of_the_engine(judge_site: Any, visit: Any, lang: str) -> None:
    learner = visit(lang)
    page = learner.open(f"{judge_site.url}/{lang}/exercises/177/")
    run = page.locator("#run")
    expect(run).to_contain_text(word("run_none_measure", lang))
    learner.write(FOOTPRINT)
    play(page, lang, "run_in_tab")
    said(page, "token/s")
    expect(run.locator(".streams .out").first).to_have_text(re.compile(r"\S"))
    animation = run.locator("minisgl-animation")
    expect(animation.locator(".foot")).to_have_text("")
    expect(animation.locator(".pos")).to_have_text(re.compile("^0 / "))
    text = animation.locator(".as-text")
    text.locator("summary").click()
    saved = 2 * 4 * 7168
    measured = text.get_by_text(f"{saved:,}")
    expect(measured.first).to_be_visible()
    at = measured.first.get_attribute("data-step")
    page.evaluate("(k) => { document.querySelector('minisgl-animation').step = Number(k); }", at)
    expect(animation.locator(".foot")).to_contain_text(f"{saved:,}")
    expect(animation.locator(".did")).to_contain_text("def kv_footprint")
    assert violations(page) == []
    learner.clean()


BAD = {
    "html": ("return '<img src=x onerror=alert(1)>'", "block_pool_no_block"),
    "raises": ("raise KeyError('<b>no</b>')", "block_pool_undue"),
    "long queue": ("self.queue = ['<b>'] * 10**6; return 0", "block_pool_too_long"),
    "odd": ("self.queue = ['<b>x</b>', 7, None]; return 0", "block_pool_strange"),
}


@pytest.mark.parametrize("kind", BAD)
def test_nonsense_is_told_in_words(judge_site: Any, visit: Any, kind: str) -> None:
    """Nothing of it becomes HTML, and the page goes on."""
    body, key = BAD[kind]
    learner = visit("en")
    page = learner.open(f"{judge_site.url}/en/exercises/178/")
    learner.write(pool_with(f"def allocate(self):\n        {body}"))
    play(page, "en")
    animation = page.locator("#run minisgl-animation")
    to_step(page, "ArrowRight")
    words = t(f"animation.{key}", "en", op="allocate", gave="§", raised="§", name="queue", n="§")
    due = max(words.split("§"), key=len)
    expect(animation.locator(".cap.alert")).to_contain_text(due)
    expect(animation.locator("img, .stage b b, .cap b")).to_have_count(0)
    if kind == "raises":
        said(page, "KeyError")
    learner.clean()


@pytest.mark.parametrize(
    ("body", "stopped"),
    [("while True: pass", "stopped_time_at"), ("print('x' * 10**7)", "stopped_output")],
    ids=["endless", "output"],
)
def test_what_does_not_end_is_stopped_with_a_word(
    judge_site: Any, visit: Any, body: str, stopped: str
) -> None:
    learner = visit("en")
    page = learner.open(f"{judge_site.url}/en/exercises/178/")
    learner.write(pool_with(f"def touch(self, block):\n        {body}"))
    play(page, "en")
    start = word(stopped, "en", seconds="5", line="§", kb="§").split("§")[0]
    said(page, start)
    play(page, "en")  # and Python is there for the next run
    said(page, start)
    learner.clean()
