"""The exercise page by itself, with a judge that follows a script."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect


def test_progress_is_shown_and_survives_a_reload(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    learner.submit("hold")
    page.wait_for_selector(".track .now >> text=unit tests")
    expect(page.locator("#verdict-h")).to_have_text("Judging", use_inner_text=True)
    page.reload()
    page.wait_for_selector(".track .now >> text=unit tests")
    assert learner.code() == "hold"
    (scripted_site.folder / "go").touch()
    page.wait_for_selector(".verdict.ok")
    expect(page.locator(".streams .out")).to_have_text("holds tokens.", use_inner_text=True)
    expect(page.locator("#last")).to_contain_text("Accepted, 10 of 10", use_inner_text=True)
    learner.clean()


def test_text_streams_while_the_engine_runs(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    learner.submit("stream")
    page.wait_for_selector(".streams >> text=A page holds tokens.")
    expect(page.locator("#verdict-h")).to_have_text("Judging", use_inner_text=True)
    expect(page.locator("#verdict mark")).to_have_text("your double", use_inner_text=True)
    expect(page.locator("#last")).to_contain_text("Judging, engine", use_inner_text=True)
    (scripted_site.folder / "go").touch()
    page.wait_for_selector(".verdict.ok")
    learner.clean()


def test_the_language_link_keeps_page_code_and_theme(scripted_site: Any, visit: Any) -> None:
    learner = visit("zh")
    page = learner.open(scripted_site.url + "/zh/exercises/176/")
    learner.write("pass  # mine")
    page.locator(".top-end > .theme [data-set='dark']").click()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("link", name="EN", exact=True).click()
    page.wait_for_url("**/en/exercises/176/")
    assert learner.code() == "pass  # mine"
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground == "rgb(18, 24, 29)"
    expect(page.locator(".top-end > .theme [aria-pressed='true']")).to_have_attribute("data-set", "dark")
    learner.clean()


def test_the_starter_follows_the_language_until_something_is_written(scripted_site: Any, visit: Any) -> None:
    learner = visit("zh")
    page = learner.open(scripted_site.url + "/zh/exercises/176/")
    assert "乘以二" in learner.code()
    page.get_by_role("link", name="EN", exact=True).click()
    page.wait_for_url("**/en/exercises/176/")
    assert "multiply by two" in learner.code()


def test_editor_keys(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    learner.write("")
    page.locator("#code .cm-content").focus()
    for key in ("def f(x):", "Enter", "if x:", "Enter", "return 1"):
        if key == "Enter":
            page.keyboard.press("Enter")
        else:
            page.keyboard.type(key)
    assert learner.code() == "def f(x):\n    if x:\n        return 1"
    page.keyboard.press("Shift+Tab")
    assert learner.code() == "def f(x):\n    if x:\n    return 1"
    page.keyboard.press("Control+a")
    page.keyboard.press("Tab")
    assert learner.code() == "    def f(x):\n        if x:\n        return 1"
    page.keyboard.press("Control+z")
    assert learner.code() == "def f(x):\n    if x:\n    return 1", "undo works over the indentation"
    page.keyboard.press("Control+f")
    page.wait_for_selector(".cm-search")
    page.keyboard.press("Escape")

    assert page.get_by_text("Esc, then Tab leaves the editor").bounding_box()["height"] > 8, "it says so, too"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "run-samples", "the keyboard is not caught"
    page.locator("#code .cm-content").focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "start-over"
    learner.clean()


def test_start_over_can_be_undone(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    starter = learner.code()
    learner.write("mine")
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#start-over")
    assert learner.code() == starter
    page.keyboard.press("Control+z")
    assert learner.code() == "mine"


def test_our_own_fault_is_grey_and_can_be_judged_again(scripted_site: Any, visit: Any) -> None:
    learner = visit("zh")
    page = learner.open(scripted_site.url + "/zh/exercises/176/")
    learner.submit("crash")
    assert learner.verdict() == "没有判成：是我们的问题"
    expect(page.locator("#verdict")).to_have_attribute("class", "verdict fault")
    expect(page.locator("#tries li").first).to_have_text(
        re.compile(r"(?:^|\s)不计\s+\S+\s*$"), use_inner_text=True
    )
    learner.write("pass")
    page.get_by_role("button", name="再判一次").click()
    page.wait_for_selector(".verdict.ok")
    learner.clean()


def test_typing_on_keeps_the_focus_in_the_editor(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    learner.submit("hold")
    page.wait_for_selector(".track .now >> text=unit tests")
    page.locator("#code .cm-content").focus()
    page.keyboard.type(" # more")
    (scripted_site.folder / "go").touch()
    page.wait_for_selector(".verdict.ok")
    assert page.evaluate("document.activeElement.id") == "code"
    expect(page.locator("#verdict")).to_contain_text("changed since", use_inner_text=True)
    page.get_by_role("button", name="Put this code into the editor").click()
    assert learner.code() == "hold"


def test_empty_code_is_not_sent(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    learner.submit("  \n")
    expect(page.locator("#last")).to_contain_text("The editor is empty", use_inner_text=True)
    expect(page.locator("#tries")).to_have_text("None yet.", use_inner_text=True)


def test_the_judge_out_of_reach(scripted_site: Any, visit: Any) -> None:
    """The code is kept and submitted once, when the judge can be reached again."""
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    page.context.set_offline(True)
    learner.submit("pass")
    page.wait_for_selector("#last >> text=cannot be reached")
    page.context.set_offline(False)
    page.wait_for_selector(".verdict.ok")
    expect(page.locator("#tries li")).to_have_count(1)
    assert learner.foreign == []


def test_a_service_that_restarts_under_a_run(serving_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(serving_site.url + "/en/exercises/176/")
    learner.submit("hold")
    page.wait_for_selector(".track .now >> text=unit tests")
    (serving_site.folder / "go").touch()
    serving_site.stop()
    serving_site.start()
    page.wait_for_selector(".verdict.ok")
    expect(page.locator("#tries li")).to_have_count(1)


def test_a_verdict_comes_without_streaming_too(scripted_site: Any, visit: Any) -> None:
    """Where the stream is refused (too many are open, or something in between breaks it), the page asks."""
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    page.route("**/api/v1/submissions/*/events", lambda route: route.fulfill(status=503))
    learner.submit("pass")
    assert learner.verdict() == "Accepted"


def test_two_windows(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    learner.write("one")
    page.wait_for_selector("#saved >> text=saved")
    other = learner.another()
    other.open(scripted_site.url + "/en/exercises/176/")
    assert other.code() == "one"
    other.write("two")
    page.wait_for_selector("#other-window >> text=another window")
    page.get_by_role("button", name="Take the other").click()
    assert learner.code() == "two"
    expect(page.locator("#other-window")).to_be_hidden()


def test_hostile_code_stays_text(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    code = "pass </textarea><img src=x onerror=alert(1)></script><b>"
    learner.submit(code)
    learner.verdict()
    page.reload()
    page.wait_for_selector(".verdict.ok")
    assert learner.code() == code
    expect(page.locator("img, #verdict b")).to_have_count(0)
    learner.clean()


@pytest.mark.parametrize("path", ["/zh/", "/en/", "/zh/exercises/176/", "/en/exercises/176/"])
def test_a_page_does_not_scroll_sideways(scripted_site: Any, visit: Any, path: str) -> None:
    """320 is a window of 1280 at 400 % zoom."""
    learner = visit(path[1:3])
    page = learner.open(scripted_site.url + path)
    if "exercises" in path:
        learner.submit("wrong")
        learner.verdict()
    for width in (320, 360, 390, 700, 768, 820, 1024, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    learner.clean()


def test_a_finger_finds_its_target(scripted_site: Any, visit: Any) -> None:
    learner = visit("zh", width=390, has_touch=True, is_mobile=True)
    page = learner.open(scripted_site.url + "/zh/exercises/176/")
    page.locator("#stop-samples").evaluate("(button) => { button.hidden = false; }")  # as in a long run
    for control in page.locator(".ed-foot .btn, .keys button, .more summary").all():
        box = control.bounding_box()
        assert box is not None and box["height"] >= 44, control.inner_text()
    learner.write("")
    page.locator(".keys button", has_text="(").tap()
    page.locator(".keys button", has_text="Tab").tap()
    assert learner.code() == "(   "
    page.locator(".more summary").tap()
    page.locator(".more-body [data-set='dark']").tap()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
