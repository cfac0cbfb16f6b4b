"""The book in a real browser: it loads nothing from elsewhere, fits the screen, and its scripts work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.fail("these tests need Chromium at /usr/bin/chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        yield started
        started.close()


def open_chapter(browser: Browser, book: Path, lang: str, width: int = 1440, theme: str = "light") -> Page:
    context = browser.new_context(viewport={"width": width, "height": 900}, reduced_motion="reduce")
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto((book / lang / "08_cache_manager.html").as_uri())
    return page


@pytest.mark.parametrize("lang", ["zh", "en"])
@pytest.mark.parametrize("width", [360, 390, 1024, 1440])
def test_no_page_is_wider_than_the_screen_and_nothing_fails_to_load(
    browser: Browser, book: Path, lang: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    asked: list[str] = []
    failed: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("requestfailed", lambda request: failed.append(request.url))
    page.on("pageerror", lambda error: failed.append(str(error)))
    for name in ("index.html", "08_cache_manager.html"):
        page.goto((book / lang / name).as_uri())
        page.evaluate("document.fonts.ready")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert failed == []
    assert all(url.startswith(book.as_uri()) for url in asked)
    context.close()


def test_a_prediction_is_compared_and_opens_the_output(browser: Browser, book: Path) -> None:
    page = open_chapter(browser, book, "zh")
    form = page.locator("form.predict").last
    output = page.locator("details.reveal").last
    assert output.get_attribute("open") is None
    form.locator("input").fill("32")
    form.locator("button").click()
    assert form.locator(".p-said").inner_text() == "你写的是 32，实际是 35。差在哪里？看下面的输出。"
    assert output.get_attribute("open") is not None
    form.locator("input").fill("35")
    form.locator("input").press("Enter")
    assert form.locator(".p-said").inner_text() == "如你所料：35。"
    page.context.close()


def test_the_theme_is_kept_and_colours_the_figures(browser: Browser, book: Path) -> None:
    page = open_chapter(browser, book, "en")
    fill = "getComputedStyle(document.querySelector('#fig-08_owners rect.r0')).fill"
    light = page.evaluate(fill)
    page.locator(".theme button[data-set=dark]").click()
    dark = page.evaluate(fill)
    assert (light, dark) == ("rgb(118, 154, 226)", "rgb(19, 66, 125)")
    page.reload()
    assert page.evaluate(fill) == dark
    page.context.close()


def test_the_language_switch_keeps_the_section(browser: Browser, book: Path) -> None:
    page = open_chapter(browser, book, "zh")
    page.goto(page.url + "#admission")
    page.locator(".langs a[lang=en]").click()
    page.wait_for_url("**/en/08_cache_manager.html#admission")
    assert page.locator("#admission").inner_text().startswith("Admission")
    page.context.close()


def test_answers_unfold_with_the_keyboard(browser: Browser, book: Path) -> None:
    page = open_chapter(browser, book, "zh", width=390, theme="dark")
    ask = page.locator("details.ask").first
    ask.locator("summary").focus()
    page.keyboard.press("Enter")
    assert ask.get_attribute("open") is not None
    assert ask.locator("p").first.is_visible()
    page.context.close()
