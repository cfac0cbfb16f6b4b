"""The engine in the tab: the bundled model, a learner's function in it, text as it comes, the same tokens."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Error
from runner_fixtures import runner, runner_site
from runner_site import RunnerPage, StaticSite, open_page, spec

from judge.chat import chat_of
from judge.exercises import Exercise, find, load_exercises
from judge.solution import solution_text
from judge.starter import starter
from minisgl.core import SamplingParams
from minisgl.llm import LLM

__all__ = ["runner", "runner_site"]

PROMPTS = ["什么是页？", "What is a page?", "什么是前缀缓存？"]
TOKENS = 16
REQUEST = {"prompts": PROMPTS, "maxTokens": TOKENS, "chat": True, "trace": True}

IN_THE_ENGINE = [
    exercise
    for exercise in load_exercises().values()
    if exercise.browser == "all" and exercise.place in ("engine", "adapter")
]


@pytest.fixture(scope="module")
def due() -> list[Any]:
    """What the engine on the CPU with real torch gives, call by call as the tab does it."""
    llm = LLM(
        "minisgl-tiny", dtype=torch.float32, page_size=4, num_page_override=64, max_seq_len_override=512
    )
    params = SamplingParams(max_tokens=TOKENS)
    texts = [chat_of(prompt) for prompt in PROMPTS]
    return [*llm.generate(texts[:2], params), *llm.generate(texts[2:], params)]


def with_function(exercise: Exercise, code: str, **more: Any) -> dict[str, Any]:
    return {**REQUEST, "exercise": spec(exercise), "code": code, **more}


@pytest.mark.parametrize("first", ["warm", "generate"])
def test_a_model_that_failed_to_load_is_loaded_at_the_next_try(
    first: str, browser: Browser, runner_site: StaticSite
) -> None:
    page = open_page(browser, runner_site)
    request = {"prompts": ["什么是页？"], "maxTokens": 2}
    page.call("warm")
    page.page.route("**/*.safetensors", lambda route: route.abort())
    with pytest.raises(Error):
        page.call("warm", "model") if first == "warm" else page.generate(request)
    page.page.wait_for_timeout(200)
    assert page.page.evaluate("window.runner.state.phase") == "ready", "and no late progress of other files"
    assert page.run("1 + 1")["value"] == "2", "what needs no model goes on"
    page.page.unroute("**/*.safetensors")
    report = page.generate(request)
    assert (report["error"], report["stopped"], len(report["tokens"][0])) == (None, None, 2)
    page.page.context.close()


def test_the_reference_writes_what_the_engine_on_torch_writes(runner: RunnerPage, due: list[Any]) -> None:
    runner.events("token")
    report = runner.generate(REQUEST)
    assert (report["error"], report["cannot"], report["stopped"]) == (None, None, None)
    assert report["tokens"] == [result["token_ids"] for result in due]
    assert report["texts"] == [result["text"] for result in due]
    assert report["finish"] == [result["finish_reason"] for result in due]
    assert report["pages"]["leaked"] == 0
    assert report["cached"][2] > 0  # it shares the words of the system with the first
    events = runner.events("token")
    for index, tokens in enumerate(report["tokens"]):
        own = [event for event in events if event["index"] == index]
        assert [event["token"] for event in own] == tokens
        assert report["texts"][index].startswith("".join(event["text"] for event in own))
    assert runner.problems == []


def test_the_text_comes_while_it_is_written(runner: RunnerPage) -> None:
    """The first token is told before the last one is computed."""
    runner.page.evaluate("window.events.length = 0")
    runner.generate(REQUEST)
    at = runner.page.evaluate("window.events.filter(({ kind }) => kind === 'token').map(({ at }) => at)")
    assert len(set(at)) > TOKENS  # each step of the engine at its own time
    assert at == sorted(at)


def test_a_learners_function_is_in_the_engine_and_its_lines_are_in_the_trace(
    runner: RunnerPage, due: list[Any]
) -> None:
    exercise = find("192")
    code = solution_text(exercise)
    report = runner.generate(with_function(exercise, code))
    assert report["error"] is None
    assert report["tokens"] == [result["token_ids"] for result in due]
    assert report["tokensEqual"] is True
    assert report["pages"] == {**report["pages"], "leaked": 0}
    inserted = [event for event in report["trace"] if event["type"] == "insert" and "line" in event]
    assert inserted
    lines = code.splitlines()
    assert all("insert_prefix" in lines[event["line"] - 1] for event in inserted)
    assert {event["type"] for event in report["trace"]} >= {"admitted", "batch", "sampled", "finished"}


def test_several_of_a_learners_functions_are_in_the_engine_at_once(
    runner: RunnerPage, due: list[Any]
) -> None:
    own = [
        {"exercise": spec(find(id)), "code": solution_text(find(id))} for id in ("180", "192", "193", "196")
    ]
    report = runner.generate({**REQUEST, "functions": own})
    assert (report["error"], report["cannot"], report["used"]) == (None, None, [180, 192, 193, 196])
    assert report["tokens"] == [result["token_ids"] for result in due]
    assert report["tokensEqual"] is True


def test_pages_that_a_function_forgets_are_counted(runner: RunnerPage) -> None:
    code = (
        "def cache_req(self, req, *, finished):\n"
        "    if finished:\n"
        "        self.unlock(req.cache_handle)\n"
        "        return None\n"
        "    return None\n"
    )
    report = runner.generate(with_function(find("192"), code))
    assert report["error"] is None
    assert report["pages"]["leaked"] > 0


def test_an_exception_in_the_engine_names_the_line(runner: RunnerPage) -> None:
    report = runner.generate(with_function(find("192"), starter(find("192"), "en")))
    assert "not written yet" in report["error"]["message"]["en"]
    assert report["error"]["line"]


def test_a_loop_in_the_engine_is_stopped(runner: RunnerPage) -> None:
    code = "def cache_req(self, req, *, finished):\n    while True:\n        pass\n"
    report = runner.generate(with_function(find("192"), code), seconds=3)
    assert report["stopped"]["why"] == "time"
    assert report["stopped"]["line"] in (2, 3)
    again = runner.generate({**REQUEST, "prompts": PROMPTS[:1], "maxTokens": 4})
    assert again["error"] is None
    assert len(again["tokens"][0]) == 4


@pytest.mark.slow
@pytest.mark.parametrize("exercise", IN_THE_ENGINE, ids=lambda exercise: exercise.key)
def test_every_reference_gives_equal_tokens_in_the_engine(exercise: Exercise, runner: RunnerPage) -> None:
    report = runner.generate(with_function(exercise, solution_text(exercise)), seconds=120)
    assert (report["error"], report["cannot"], report["stopped"]) == (None, None, None)
    assert report["tokensEqual"] is True
    assert report["pages"] is None or report["pages"]["leaked"] == 0
    assert all(report["texts"])
