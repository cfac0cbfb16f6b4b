"""Map, playground, cards and progress, and the site on a host without a judge."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def static_host(plain_site: Path, tmp_path: Path) -> Iterator[str]:
    """The same folder below a folder of a plain file server: no judge, no headers of ours."""
    (tmp_path / "course").symlink_to(plain_site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/course/"
    server.shutdown()
    server.server_close()


def test_the_map_leads_to_the_next_exercise_and_marks_what_is_the_learners(
    scripted_site: Any, visit: Any
) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/")
    expect(page.locator("#next-id")).to_have_text("176", use_inner_text=True)
    page.get_by_role("link", name="Start writing").click()
    page.wait_for_url("**/en/exercises/176/")
    learner.submit("pass")
    assert learner.verdict() == "Accepted"
    page.get_by_role("link", name=re.compile("^Next: 192")).click()
    page.wait_for_url("**/en/exercises/192/")
    page.get_by_role("link", name="Map", exact=True).first.click()
    page.wait_for_selector("[data-slot='176'].accepted")
    expect(page.locator("#next-id")).to_have_text("192", use_inner_text=True)
    expect(page.locator("#passed")).to_have_text("1", use_inner_text=True)
    expect(page.locator("#course-count")).to_contain_text("1 accepted", use_inner_text=True)
    expect(page.locator("#week")).to_contain_text("Accepted, submission 1", use_inner_text=True)
    expect(page.locator("tr.here")).to_have_attribute("data-chapter", "8")
    learner.clean()


def test_progress_goes_to_another_browser_as_one_file(scripted_site: Any, visit: Any, tmp_path: Path) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    learner.submit("pass")
    learner.verdict()
    learner.write("pass  # mine")
    page.wait_for_selector("#saved >> text=saved")
    page.goto(scripted_site.url + "/en/progress/")
    with page.expect_download() as download:
        page.click("#export")
    file = tmp_path / "progress.json"
    download.value.save_as(file)
    assert json.loads(file.read_text())["version"] == 1

    other = visit("zh")
    page = other.open(scripted_site.url + "/zh/progress/")
    page.set_input_files("#file", file)
    page.wait_for_selector("#status .ok")
    page.goto(scripted_site.url + "/zh/exercises/176/")
    assert other.code() == "pass  # mine"

    newer = tmp_path / "newer.json"
    newer.write_text(json.dumps(json.loads(file.read_text()) | {"version": 2}))
    damaged = tmp_path / "damaged.json"
    damaged.write_text(file.read_text()[:-40])
    page.goto(scripted_site.url + "/zh/progress/")
    for bad, words in ((newer, "较新的版本"), (damaged, "不是导出的进度文件")):
        page.set_input_files("#file", bad)
        page.wait_for_selector(f"#status .wrong >> text={words}")
    page.goto(scripted_site.url + "/zh/exercises/176/")
    assert other.code() == "pass  # mine", "nothing was changed"


def test_a_shared_link_neither_runs_nor_replaces_unasked(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/playground/")
    page.wait_for_selector(".cm-content")
    learner.write("print('shared')")
    page.click("#share")
    page.wait_for_selector("#last >> text=link")
    link = page.url
    assert "#code=1." in link
    requests: list[str] = []

    other = visit("en")
    other.page.on("request", lambda request: requests.append(request.url))
    page = other.open(scripted_site.url + "/en/playground/")
    page.wait_for_selector(".cm-content")
    other.write("my own")
    page.wait_for_selector("#saved >> text=saved")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("#shared >> text=does not run by itself")
    assert other.code() == "my own"
    page.get_by_role("button", name="Open it").click()
    assert other.code() == "print('shared')"
    assert "#code" not in page.url
    assert not any("code=" in request.partition("#")[0] for request in requests), "the code went nowhere"
    page.goto("about:blank")
    page.goto(scripted_site.url + "/en/playground/#code=1.damaged")
    page.wait_for_selector("#last >> text=incomplete")


def test_cards_with_the_keyboard(course_site: Path, scripted_site: Any, visit: Any) -> None:
    learner = visit("zh")
    page = learner.page
    cards = (course_site / "assets" / "cards.zh.json").read_text(encoding="utf-8")
    page.route(
        "**/assets/cards.zh.json", lambda route: route.fulfill(body=cards, content_type="application/json")
    )
    page.goto(scripted_site.url + "/zh/cards/")
    page.wait_for_selector(".card .ask")
    first = page.locator(".ask").inner_text()
    page.keyboard.press("Space")
    page.wait_for_selector(".answer")
    page.keyboard.press("3")
    expect(page.locator(".ask")).not_to_have_text(first)
    page.wait_for_selector(".cards-foot >> text=学过 1")
    page.reload()
    page.wait_for_selector(".card .ask")
    expect(page.locator(".ask"), "it is due tomorrow").not_to_have_text(first, use_inner_text=True)
    with page.expect_download() as download:
        page.click("#anki")
    text = Path(download.value.path()).read_text(encoding="utf-8")
    assert text.startswith("#separator:tab\n#html:true\n") and len(text.splitlines()) > 10


def test_a_host_without_a_judge_says_what_is_missing_and_keeps_the_code(static_host: str, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(static_host)
    page.wait_for_url("**/course/en/")
    page.get_by_role("link", name="Start writing").click()
    page.wait_for_url("**/course/en/exercises/176/")
    learner.submit("def double(x): return 2 * x")
    page.wait_for_selector("#last >> text=no judge")
    expect(page.locator("#last")).to_contain_text("python practice/judge.py 176", use_inner_text=True)
    page.reload()
    assert learner.code() == "def double(x): return 2 * x"
    page.wait_for_selector("#last >> text=no judge")
    page.get_by_role("link", name="中文").click()
    page.wait_for_url("**/course/zh/exercises/176/")
    assert learner.foreign == []


def test_nothing_typed_is_lost_in_a_crash_and_undo_goes_on_after_it(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    starter = learner.code()
    learner.write("first")
    page.wait_for_selector("#saved >> text=saved")
    page.reload()
    assert learner.code() == "first"
    page.locator("#code .cm-content").focus()
    page.keyboard.press("Control+z")
    assert learner.code() == starter, "undo goes on over the reload"


def test_code_that_was_replaced_is_in_the_history(scripted_site: Any, visit: Any) -> None:
    learner = visit("en")
    page = learner.open(scripted_site.url + "/en/exercises/176/")
    learner.write("mine\n")
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#start-over")
    page.wait_for_selector("#saved:empty", state="attached")
    page.click("#history")
    page.locator(".kept summary").click()
    expect(page.locator(".kept .added")).to_contain_text("mine", use_inner_text=True)
    page.get_by_role("button", name="Put this code into the editor").click()
    assert learner.code() == "mine\n"
    learner.submit("pass\nx = 1\n")
    learner.verdict()
    learner.write("pass\nx = 2\n")
    page.click("#diff")
    expect(page.locator("#panel .removed")).to_have_text(
        re.compile(r"(?:^|\s)x\s+=\s+1\s*$"), use_inner_text=True
    )
    expect(page.locator("#panel .added")).to_have_text(
        re.compile(r"(?:^|\s)x\s+=\s+2\s*$"), use_inner_text=True
    )
    learner.clean()
