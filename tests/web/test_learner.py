"""A learner's way with the real judge: choose 192, write, submit, read the verdict and the text."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from judge.exercises import find
from judge.solution import solution_text

RIGHT = solution_text(find("192"))
LEAKING = RIGHT.replace("self._free(locations[new.cached_len :])", "pass")
WRONG = RIGHT.replace("self.unlock(old)", "pass")
WORDS = {
    "zh": {
        "ac": "通过",
        "wa": "答案错误",
        "open": "打开练习",
        "pages": "页",
        "hint": "看提示 1",
        "tab": "在本页",
    },
    "en": {
        "ac": "Accepted",
        "wa": "Wrong answer",
        "open": "Open exercise",
        "pages": "Pages",
        "hint": "Show hint 1",
        "tab": "in this tab",
    },
}


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_learners_way(judge_site: Any, visit: Any, lang: str) -> None:
    assert RIGHT not in (WRONG, LEAKING)
    words = WORDS[lang]
    learner = visit(lang)
    page = learner.open(judge_site.url + "/")
    assert page.url == f"{judge_site.url}/{lang}/", "the browser's language"

    page.locator("[data-chapter='8'] [data-slot='192']").click()
    page.wait_for_url("**/exercises/192/")
    starter = learner.code()
    assert "def cache_req" in starter and RIGHT.strip() not in starter

    # A failing sample, in the tab, with what was expected; mended, all are green. Nothing went to the judge.
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    learner.write(LEAKING)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".sample-list .wrong .diff")
    learner.write(RIGHT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".sample-list > .ok >> nth=3")
    expect(page.locator("#samples-count")).to_contain_text(words["tab"])
    assert sent == []

    # A wrong solution: the rule that broke, groups, hints one at a time; the reference stays closed.
    learner.submit(WRONG)
    assert learner.verdict() == words["wa"]
    verdict = page.locator("#verdict")
    expect(verdict.locator(".rule .no")).to_have_text("1", use_inner_text=True)
    expect(verdict.locator(".groups li")).to_have_count(5)
    page.get_by_role("button", name=words["hint"]).click()
    expect(page.locator(".hints li")).to_have_count(1)
    assert page.evaluate("document.activeElement.id") == "hint-1"
    refused = page.evaluate("fetch('/api/v1/exercises/192/solution').then((answer) => answer.status)")
    assert refused in (200, 403) and (refused == 403 or lang == "en"), "the first pass opens it"

    # The right one: all groups, the engine, the text, the reference.
    learner.submit(RIGHT)
    assert learner.verdict() == words["ac"]
    expect(verdict.locator(".groups .ok")).to_have_count(5)
    checks = verdict.locator(".checks")
    expect(checks).to_contain_text(words["pages"])
    expect(checks.locator(".wrong")).to_have_count(0)
    written = verdict.locator(".streams .out")
    expect(written.first, "text that the engine wrote").to_have_text(re.compile(r"\S"), use_inner_text=True)
    assert all(text.strip() for text in written.all_inner_texts())
    expect(page.locator("[data-slot='192'].accepted")).to_have_count(1)
    page.wait_for_selector("#run minisgl-animation")
    page.locator(".acts button[aria-expanded]").click()
    expect(page.locator("#solution pre")).to_contain_text("def cache_req")

    # Both submissions are in the list, newest first; the wrong one opens again.
    tries = page.locator("#tries button")
    expect(tries.nth(0)).to_contain_text(words["ac"])
    expect(tries.nth(1)).to_contain_text(words["wa"])
    tries.nth(1).click()
    assert learner.verdict() == words["wa"]
    learner.console = [line for line in learner.console if "403" not in line]
    learner.clean()


def test_samples_explain_themselves(judge_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(judge_site.url + "/en/exercises/176/")
    learner.write("def page_address(block_table, position, block_size):\n    print('here')\n    return {}\n")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".sample-list .wrong")
    text = page.locator("#samples").inner_text()
    assert "The example: block table [7, 1, 3], position 9" in text
    assert "logical_block" in text and "here" in text
    expect(page.locator("#last")).to_have_text(re.compile("samples fail$"))
    learner.clean()


def test_code_that_does_not_parse(judge_site: Any, visit: Any) -> None:
    learner = visit("zh")
    page = learner.open(judge_site.url + "/zh/exercises/176/")
    learner.submit("def page_address(block_table, position, block_size):\n    return (1\n")
    assert learner.verdict() == "无法评测"
    expect(page.locator("#verdict")).to_contain_text("第 2 行")
    learner.clean()


def test_a_second_click_does_not_wipe_what_is_being_written(judge_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.page
    page.goto(judge_site.url + "/en/playground/")
    page.wait_for_selector(".cm-content")
    page.evaluate(
        "for (let n = 0; n < 2; n += 1) document.getElementById('generate').click();"
        "window.row = document.querySelector('.streams li')"
    )
    page.wait_for_selector(".streams >> text=tokens")
    assert page.evaluate("window.row === document.querySelector('.streams li')")
    expect(page.locator(".generator > p.num")).to_contain_text("token/s", use_inner_text=True)
    learner.write("x = '\ud83d'")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#last >> text=Line 1 has half a character")
    learner.clean()


def test_samples_that_take_long_can_be_stopped_from_the_foot(judge_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(judge_site.url + "/en/exercises/176/")
    learner.write("def page_address(block_table, position, block_size):\n    while True: pass\n" + "#\n" * 80)
    page.keyboard.press("Control+Enter")
    stop = page.get_by_role("button", name="Stop")
    expect(stop).to_be_in_viewport(timeout=60_000)
    stop.click()
    expect(page.locator("#last")).to_have_text("Stopped as you asked.")
    expect(page.locator("#last")).to_be_in_viewport()
    expect(stop).to_be_hidden()
    learner.clean()


def test_at_the_next_visit_python_starts_unasked(judge_site: Any, visit: Any) -> None:
    learner = visit("en", service_workers="allow")
    page = learner.open(judge_site.url + "/en/exercises/176/")
    page.evaluate("navigator.serviceWorker.ready.then(() => null)")
    learner.open(judge_site.url + "/en/exercises/192/")
    expect(page.locator("iframe[title='Python']")).to_be_attached()
    learner.clean()


@pytest.mark.parametrize("path", ["/en/playground/", "/en/", "/en/exercises/192/"])
def test_a_model_that_does_not_come_is_told_of(judge_site: Any, visit: Any, path: str) -> None:
    learner = visit("en")
    page = learner.page
    page.route("**/assets/runtime/model-*", lambda route: route.abort())
    page.goto(judge_site.url + path)
    page.get_by_role("button", name=re.compile("^(Generate|Run it in this page|Run in this tab)")).click()
    page.get_by_role("status").get_by_text("could not be loaded").wait_for()
