"""axe on every page and state, both languages, both themes, desktop and phone."""

from __future__ import annotations

from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice"]


def violations(page: Any) -> list[str]:
    page.evaluate("scrollTo(0, 0)")  # else the bar lies over half a control, which axe counts as too small
    found = Axe().run(page, options={"runOnly": {"type": "tag", "values": TAGS}}).response["violations"]
    return [
        f"{one['id']}: {node['target']} {node['failureSummary']}" for one in found for node in one["nodes"]
    ]


EVERY = [
    (lang, theme, width) for lang in ("zh", "en") for theme in ("light", "dark") for width in (390, 1440)
]
QUICK = {("zh", "light", 390), ("en", "dark", 1440)}


@pytest.mark.parametrize(
    ("lang", "theme", "width"),
    [pytest.param(*one, marks=() if one in QUICK else pytest.mark.slow) for one in EVERY],
)
def test_axe_finds_nothing(scripted_site: Any, visit: Any, lang: str, theme: str, width: int) -> None:
    learner = visit(lang, theme=theme, width=width)
    page = learner.open(f"{scripted_site.url}/{lang}/")
    assert violations(page) == []
    if width < 760:
        page.locator(".more summary").click()
        assert violations(page) == []
    page.goto(f"{scripted_site.url}/{lang}/exercises/176/")
    page.wait_for_selector("#tries .none")
    assert violations(page) == []
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".sample-list")
    for order in ("wrong", "pass", "crash", "hold"):
        learner.submit(order)
        if order == "hold":
            page.wait_for_selector(".track .now")
        else:
            learner.verdict()
        if order == "wrong":
            page.locator(".hints button").click()
        if order == "pass":
            page.locator(".acts button[aria-expanded]").click()
            page.wait_for_selector("#solution")
        page.locator("details.source").evaluate("(one) => { one.open = true; }")
        assert violations(page) == [], order
    page.click("#history")
    page.click("#diff")
    page.wait_for_selector(".diff-lines, #panel .small")
    assert violations(page) == []
    page.goto(f"{scripted_site.url}/{lang}/exercises/999/")
    assert violations(page) == []
    for kind, ready in (("exercises", "h1"), ("playground", ".cm-content"), ("cards", ".card")):
        page.goto(f"{scripted_site.url}/{lang}/{kind}/")
        page.wait_for_selector(ready)
        assert violations(page) == [], kind
    page.goto(f"{scripted_site.url}/{lang}/progress/")
    page.wait_for_selector("#export")
    assert violations(page) == []
