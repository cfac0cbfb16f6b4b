"""A chapter inside the whole site, as `make run` serves it, with what other builders bring."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_chapter_plays_searches_and_loads_nothing_from_elsewhere(judge_site: Any, visit: Any) -> None:
    reader = visit("zh")
    page = reader.open(f"{judge_site.url}/book/zh/08_cache_manager.html")
    figure = page.locator("#fig-kv_pool minisgl-animation")
    figure.scroll_into_view_if_needed()
    figure.locator("button").first.wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("准入")
    page.locator(".s-list a").first.wait_for()
    page.keyboard.press("Escape")
    page.locator("#ex-192").scroll_into_view_if_needed()
    page.locator("#ex-192.live .cm-content").wait_for()
    page.locator('.top-nav a[href="../../zh/"]').click()
    page.wait_for_url(f"{judge_site.url}/zh/")
    reader.clean()


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_map_of_the_whole_course_fits_a_window_at_four_hundred_percent(
    judge_site: Any, visit: Any, lang: str
) -> None:
    learner = visit(lang, width=320)
    page = learner.open(f"{judge_site.url}/{lang}/")
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
