"""The exercise page in rough hands: odd storage, held keys, huge code, windows left open, paper."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import expect

PAGE = "/en/exercises/176/"
DENIED = """for (const name of ['localStorage', 'indexedDB']) Object.defineProperty(window, name, {
  get() { throw new DOMException('denied', 'SecurityError'); },
})"""
FULL = """Storage.prototype.setItem = IDBObjectStore.prototype.put = () => {
  throw new DOMException('full', 'QuotaExceededError');
}"""


@pytest.mark.parametrize("how", [DENIED, FULL], ids=["denied", "full"])
def test_a_browser_that_keeps_nothing(scripted_site: Any, visit: Any, how: str) -> None:
    learner = visit("en")
    learner.page.add_init_script(how)
    page = learner.open(scripted_site.url + PAGE)
    learner.write("pass")
    page.wait_for_selector("#saved >> text=not kept")
    learner.submit("pass")
    assert learner.verdict() == "Accepted"
    page.locator(".top-end > .theme [data-set='dark']").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    learner.clean()


def test_storage_that_somebody_else_wrote(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    starter = learner.code()
    for kept in ('{"code": 5}', "5", "[]", '{"code": null}', '{"code": "a", "at": "x"}', "{", "null", ""):
        page.evaluate(
            "(text) => { localStorage['minisgl:draft:ex:176'] = text; localStorage.theme = text; }", kept
        )
        page.reload()
        assert (learner.code(), page.inner_text("#saved")) == (starter, ""), kept
    learner.clean()


def test_a_held_key_and_a_double_click_submit_once(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    learner.write("hold")
    page.locator("#code .cm-content").focus()
    page.keyboard.down("Control")
    page.keyboard.down("Shift")
    for _ in range(5):
        page.keyboard.down("Enter")
    page.keyboard.up("Enter")
    page.keyboard.up("Shift")
    page.keyboard.up("Control")
    page.wait_for_selector(".track .now >> text=unit tests")
    page.dblclick("#submit")
    page.evaluate("for (let n = 0; n < 5; n += 1) document.getElementById('run-samples').click()")
    page.wait_for_selector("#samples >> text=run")
    (scripted_site.folder / "go").touch()
    page.wait_for_selector(".verdict.ok")
    page.wait_for_selector(".sample-list")
    assert len(sent) == 2, "one submission, one run of the samples"
    page.click("#submit")
    page.wait_for_selector("#tries li >> nth=1")
    learner.clean()


def test_long_code_does_not_stop_the_page(scripted_site: Any, visit: Any) -> None:
    """The browser's way of typing takes time with the square of the lines: minutes here."""
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    code = "pass\n" * 8000 + "#" + "x" * 20_000
    learner.write(code)
    page.keyboard.press("Control+Shift+Enter")
    assert learner.verdict() == "Accepted"
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#start-over")
    assert learner.code().startswith("# 176 double")
    page.reload()
    page.get_by_role("button", name="Put this code into the editor").click()
    assert learner.code() == code
    assert page.evaluate("document.documentElement.scrollWidth") <= 1440
    learner.clean()


@pytest.mark.parametrize("size", [70_000, 1_000_000])
def test_code_over_the_limit_is_refused_in_words(scripted_site: Any, visit: Any, size: int) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    learner.write("x" * size)
    page.click("#submit")
    page.wait_for_selector("#last .wrong >> text=kB")
    learner.write("pass")
    page.click("#submit")
    assert learner.verdict() == "Accepted"


def test_half_a_character_is_told_of_before_anything_is_sent(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    learner.write("pass\nx = '\ud83d'")
    page.click("#submit")
    page.wait_for_selector("#last .wrong >> text=Line 2 has half a character")
    learner.write("pass\nx = '\U0001f600'")
    page.click("#submit")
    assert learner.verdict() == "Accepted"
    learner.clean()


def test_a_window_left_open_does_not_undo_the_other(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    learner.write("old")
    page.wait_for_selector("#saved >> text=saved")
    other = learner.another()
    other.open(scripted_site.url + PAGE)
    other.write("new")
    other.page.wait_for_selector("#saved >> text=saved")
    page.wait_for_selector("#other-window >> text=another window")
    other.page.close()
    page.goto(scripted_site.url + "/en/")
    page.goto(scripted_site.url + PAGE)
    assert learner.code() == "new"


def test_started_over_in_the_other_window(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    starter = learner.code()
    learner.write("mine")
    page.wait_for_selector("#saved >> text=saved")
    other = learner.another()
    other.open(scripted_site.url + PAGE)
    other.page.once("dialog", lambda dialog: dialog.accept())
    other.page.click("#start-over")
    page.get_by_role("button", name="Take the other").click()
    assert learner.code() == starter


def test_the_status_does_not_say_the_same_twice(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    page.evaluate(
        """() => {
          window.said = [];
          const last = document.getElementById('last');
          new MutationObserver(() => window.said.push(last.textContent)).observe(last, { childList: true });
        }"""
    )
    learner.submit("stream")
    page.wait_for_selector(".streams >> text=A page holds tokens.")
    (scripted_site.folder / "go").touch()
    page.wait_for_selector(".verdict.ok")
    said = page.evaluate("window.said")
    assert said and all(one != following for one, following in pairwise(said))


def test_back_and_forward_keep_code_and_verdict(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + PAGE)
    learner.submit("pass")
    learner.verdict()
    learner.write("pass  # mine")
    page.goto(scripted_site.url + "/en/")
    page.go_back()
    page.wait_for_selector(".verdict.ok")
    assert learner.code() == "pass  # mine"
    learner.clean()


def test_paper_and_forced_colours(scripted_site: Any, visit: Any) -> None:
    learner = visit("en", forced_colors="active")
    page = learner.open(scripted_site.url + PAGE)
    learner.submit("wrong")
    learner.verdict()
    borders = "(every) => every.map((one) => getComputedStyle(one).borderBottomColor)"
    current = page.eval_on_selector_all(".top-nav a[aria-current]", borders)
    others = page.eval_on_selector_all(".top-nav a:not([aria-current])", borders)
    assert current and not set(current) & set(others), "where one is can be seen"
    page.focus("#submit")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.emulate_media(media="print", forced_colors="none")
    for hidden in ("#submit", ".hints button"):
        expect(page.locator(hidden)).to_be_hidden()
    for shown in ("#code", "#verdict-h"):
        expect(page.locator(shown)).to_be_visible()
    learner.clean()


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_an_address_full_of_markup(scripted_site: Any, visit: Any, lang: str) -> None:
    learner = visit(lang)
    page = learner.page
    for path in (
        "<img src=x onerror=alert(1)>",
        "176?x=<script>alert(1)</script>#<img src=x onerror=alert(1)>",
    ):
        page.goto(f"{scripted_site.url}/{lang}/exercises/{path}")
        expect(page.locator("img")).to_have_count(0)
    assert learner.foreign == []
