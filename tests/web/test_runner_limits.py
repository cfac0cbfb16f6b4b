"""Runs that do not end well: each is stopped and told, and the next run is as if nothing had been."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser
from runner_fixtures import runner, runner_site
from runner_site import RunnerPage, StaticSite, open_page

from judge.exercises import find

__all__ = ["runner", "runner_site"]

SWALLOWS = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"

ENDS = {
    "loop": ("x = 0\nwhile True:\n    x += 1", {"why": "time", "seconds": 1}),
    "loop that swallows everything": (SWALLOWS, {"why": "time", "seconds": 1, "line": None, "hits": None}),
    "sleep": ("import time\ntime.sleep(60)", {"why": "time", "seconds": 1}),
    "storm of exceptions": (
        "def f(): raise ValueError\nwhile True:\n    try: f()\n    except ValueError: pass",
        {"why": "time", "seconds": 1},
    ),
    "flood of output": ("for _ in range(100): print('x' * 100_000)", {"why": "output"}),
    "output that swallows its end": (
        "while True:\n    try: print('x' * 1000)\n    except BaseException: pass",
        {"why": "time", "seconds": 1},
    ),
    "flood of messages": (
        "import js\nwhile True: js.self.postMessage('{\"type\":\"' + 'x' * 100_000)",
        {"why": "output"},
    ),
    "messages that are none": ("import js\njs.self.postMessage(js.ArrayBuffer.new(8))", {"why": "ended"}),
    "memory": ("x = []\nwhile True: x.append(bytearray(50_000_000))", {"why": "memory"}),
    "memory of numpy": (
        "import numpy as np\nx = [np.ones(10_000_000) for _ in range(100)]",
        {"why": "memory"},
    ),
    "exit of the process": ("import os\nos._exit(0)", {"why": "ended"}),
    "recursion in C": ("x = []\nfor _ in range(200_000): x = [x]\nrepr(x)", {"why": "ended"}),
    "brackets too deep": ("print(1)\nx = " + "[" * 1000 + "]" * 1000, {"why": "nested"}),
    "operators too deep": ("print(1)\nx = " + "-" * 1500 + "1", {"why": "nested"}),
    "wild pointer": ("import ctypes\nctypes.string_at(0xFFFF_FFF0)", {"why": "ended"}),
}


@pytest.mark.parametrize("name", ENDS)
def test_a_run_is_stopped_and_the_next_one_is_not(name: str, runner: RunnerPage) -> None:
    code, due = ENDS[name]
    report = runner.run(code, seconds=1 if due["why"] == "time" else 30)
    stopped: dict[str, Any] = report["stopped"]
    assert {key: stopped.get(key) for key in due} == due
    assert len(report["stdout"]) <= 128 * 1024
    assert runner.run("print('hi')\n1 + 1")["value"] == "2"


@pytest.mark.parametrize(
    ("code", "line", "words"),
    [
        ("def f(n): return f(n + 1)\nf(0)", 1, "RecursionError in line 1"),
        ("\nraise SystemExit(3)", 2, "SystemExit in line 2 (3)"),
        ("import threading\nthreading.Thread(target=print).start()", 2, "RuntimeError in line 2"),
        ("1 / 0", 1, "ZeroDivisionError in line 1"),
        ("input()", 1, "EOFError in line 1"),
        ("import torch\ntorch.linalg.svd(torch.eye(2))", 2, "torch.linalg"),
    ],
)
def test_an_exception_is_told_with_its_line(code: str, line: int, words: str, runner: RunnerPage) -> None:
    error = runner.run(code)["error"]
    assert error["line"] == line
    assert words in error["message"]["en"]
    assert error["message"]["zh"]


def test_a_loop_is_interrupted_where_it_is(runner: RunnerPage) -> None:
    """It ends by an interrupt, at once: the worker goes on, so nothing is loaded again."""
    runner.run("1")
    runner.events("state")
    code = "def f():\n    n = 0\n    while True:\n        n += 1\nf()"
    took = runner.page.evaluate(
        """async (code) => {
            const done = window.runner.run(code, { seconds: 60 });
            await new Promise((resolve) => window.runner.listen({
                onState: (state) => state.phase === "busy" && setTimeout(resolve, 300) }));
            const start = performance.now();
            window.runner.stop();
            const report = await done;
            return { seconds: (performance.now() - start) / 1000, report };
        }""",
        code,
    )
    assert took["report"]["stopped"] == {"why": "user"}
    assert took["seconds"] < 1  # after which the worker would have been ended
    assert [state["phase"] for state in runner.events("state")] == ["busy", "ready"]


def test_a_spare_takes_over(runner: RunnerPage) -> None:
    """The run after one that had to be ended waits for no new Python: its worker is older than that end."""
    runner.run("1")  # after which a spare is made
    age = runner.page.evaluate(
        """async (swallows) => {
            await window.runner.run(swallows, { seconds: 1 });
            const end = performance.now();
            const report = await window.runner.run("import js\\njs.performance.now()");
            return { worker: Number(report.value), since: performance.now() - end };
        }""",
        SWALLOWS,
    )
    assert age["worker"] > age["since"]


def test_a_run_that_is_stopped_before_python_is_there_does_not_begin(
    browser: Browser, runner_site: StaticSite
) -> None:
    page = open_page(browser, runner_site)
    report = page.page.evaluate(
        "() => { const done = window.runner.run('print(1)'); window.runner.stop(); return done; }"
    )
    assert report["stopped"] == {"why": "user"}
    assert report["stdout"] == ""
    assert page.run("1 + 1")["value"] == "2"
    page.page.context.close()


def test_samples_that_do_not_end_are_told_up_to_there(runner: RunnerPage) -> None:
    exercise = find("176")
    code = "calls = 0\ndef page_address(block_table, position, block_size):\n    while True:\n        pass"
    report = runner.samples(exercise, code, seconds=1)
    assert report["stopped"]["why"] == "time"
    assert report["stopped"]["line"] in (3, 4)
    assert report["stopped"]["hits"] > 1000
    assert [result["ok"] for result in report["results"]] == [False]


def test_code_too_deep_for_the_tab_is_told_from_a_crash_of_what_runs(runner: RunnerPage) -> None:
    exercise = find("176")
    code = "def page_address(block_table, position, block_size):\n    return " + "not " * 2000 + "0\n"
    for _ in range(2):
        report = runner.samples(exercise, code)
        assert (report["stopped"], report["results"]) == ({"why": "nested"}, [])
    crash = "x = []\nfor _ in range(200_000): x = [x]\n"
    ends = "def page_address(block_table, position, block_size):\n    repr(x)\n"
    assert runner.samples(exercise, crash + ends)["stopped"] == {"why": "ended"}


def test_a_second_task_is_refused_while_one_runs(runner: RunnerPage) -> None:
    name = runner.page.evaluate(
        """async () => {
            const first = window.runner.run("sum(range(100))");
            const second = await window.runner.run("2").catch((error) => error.name);
            return [(await first).value, second];
        }"""
    )
    assert name == ["4950", "RunnerBusy"]
