"""What the tab says of files that cannot be run, and what the editor marks: the judge's words."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser
from runner_fixtures import runner, runner_site
from runner_site import RunnerPage, StaticSite, open_page

from judge.exercises import find
from judge.solution import solution_text
from judge.source import CannotJudge, read_source

__all__ = ["runner", "runner_site"]

BROKEN = {
    "": "empty",
    "# only a comment\n": "empty",
    "def page_address(block_table, position, block_size)\n    return 1\n": "syntax",
    "def page_address(block_table, position, block_size):\nreturn 1\n": "syntax",
    "x = (1,\n": "syntax",
    "def page_addres(block_table, position, block_size): pass\n": "missing_name",
    "class page_address: pass\n": "wrong_kind",
    "async def page_address(block_table, position, block_size): pass\n": "wrong_kind",
    "def page_address(block_table, position): pass\n": "wrong_signature",
}


@pytest.mark.parametrize("code", BROKEN)
def test_a_file_that_cannot_be_run_gets_the_judges_words(code: str, runner: RunnerPage) -> None:
    exercise = find("176")
    with pytest.raises(CannotJudge) as refused:
        read_source(exercise, code.encode())
    report = runner.samples(exercise, code)
    assert report["results"] == []
    assert report["cannot"]["message"] == refused.value.text
    assert report["cannot"]["line"] == refused.value.line
    assert report["cannot"]["kind"] == BROKEN[code]


def test_python_311_is_what_counts_here_too(runner: RunnerPage) -> None:
    """The tab's Python is newer than the oldest that judges."""
    cannot = runner.samples(find("176"), "type X = int\n")["cannot"]
    assert cannot["kind"] == "syntax"
    assert "3.12" in cannot["message"]["en"]


@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        (
            "import nowhere_to_be_found\ndef page_address(block_table, position, block_size): pass\n",
            "import",
            1,
        ),
        ("def page_address(block_table, position, block_size): pass\n1 / 0\n", "exception", 2),
        ("page_address = 5\n", "wrong_kind", None),
    ],
)
def test_what_only_running_the_file_shows(code: str, kind: str, line: int | None, runner: RunnerPage) -> None:
    cannot = runner.samples(find("176"), code)["cannot"]
    assert (cannot["kind"], cannot["line"]) == (kind, line)
    assert cannot["message"]["zh"] and cannot["message"]["en"]


def test_a_failed_sample_says_what_it_expected(runner: RunnerPage) -> None:
    exercise = find("176")
    code = solution_text(exercise).replace("divmod(position, block_size)", "divmod(position + 1, block_size)")
    results = runner.samples(exercise, code)["results"]
    failed = next(result for result in results if not result["ok"])
    assert failed["assertion"]
    assert failed["expected"] != failed["got"]
    assert failed["sampleLine"]
    lines = exercise.samples.splitlines()
    assert "assert" in lines[failed["sampleLine"] - 1]


def test_what_our_torch_lacks_points_to_the_judge(runner: RunnerPage) -> None:
    code = (
        "import torch\ndef page_address(block_table, position, block_size):\n"
        "    return torch.linalg.svd(torch.eye(2))\n"
    )
    failed = runner.samples(find("176"), code)["results"][0]
    assert failed["line"] == 3
    assert "torch.linalg" in failed["message"]["en"] and "judge" in failed["message"]["en"]
    assert "判题机" in failed["message"]["zh"] and "judge" not in failed["message"]["zh"]


def test_marks_in_the_editor(runner: RunnerPage) -> None:
    items = runner.lint("import os\n\ndef f(x):\n    return y + x\n")
    assert [(item["line"], item["column"], item["severity"]) for item in items] == [
        (1, 1, "warning"),
        (4, 12, "error"),
    ]
    assert items[1]["message"] == {"zh": "`y` 没有定义。", "en": "`y` is not defined."}
    (broken,) = runner.lint("def f(:\n")
    assert broken["severity"] == "error"
    assert runner.lint("") == runner.lint("x = 1\n") == []


def test_marks_need_no_python_of_their_own(browser: Browser, runner_site: StaticSite) -> None:
    page = open_page(browser, runner_site)
    assert page.lint("x = (") == []
    assert page.page.evaluate("window.runner.state") == {"phase": "idle"}
    page.page.context.close()


def test_without_isolation_a_loop_is_ended_by_ending_its_worker(
    browser: Browser, runner_site: StaticSite
) -> None:
    """Where a host sets no headers, no memory is shared with the worker, which cannot be interrupted then."""
    runner_site.isolated = False
    try:
        page = open_page(browser, runner_site)
        assert page.page.evaluate("crossOriginIsolated") is False
        report = page.run("while True: pass", seconds=1)
        assert report["stopped"] == {"why": "time", "seconds": 1, "line": None, "hits": None}
        assert page.run("1 + 1")["value"] == "2"
        page.page.context.close()
    finally:
        runner_site.isolated = True


def test_a_site_without_the_runtime_says_so(browser: Browser, runner_site: StaticSite) -> None:
    context = browser.new_context()
    context.route("**/manifest.json", lambda route: route.fulfill(status=404))
    page = RunnerPage(context, runner_site.url)
    assert page.page.evaluate("window.runner.run('1').catch((error) => error.name)") == "AssetsMissing"
    state = page.events("state")[-1]
    assert state["phase"] == "failed"
    assert "command line" in state["message"]["en"]
    context.close()
