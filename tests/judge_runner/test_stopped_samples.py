"""A sample that the page stops says so, with its time and its line, and not the exception that stopped it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "web" / "judge_runner"))

from judge_runner import interrupts, samples

SAMPLES = '''def test_one(double):
    """甲
    one"""
    assert double(2) == 4


def test_two(double):
    """乙
    two"""
    assert double(3) == 6
'''
EXERCISE = {
    "slug": "double",
    "target": "double",
    "members": [],
    "interface": "def double(x: int) -> int: ...",
    "samples": SAMPLES,
}


@pytest.fixture
def watched() -> Iterator[None]:
    """Interrupts are taken as in the tab."""
    before = signal.getsignal(signal.SIGINT)
    interrupts.watch()
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def stopped(watched: None) -> Iterator[None]:
    """An interrupt after 0.3 s, as the page sends it."""
    alarm = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, alarm)


def run(code: str) -> dict[str, Any]:
    return samples.run({"exercise": EXERCISE, "code": code}, lambda kind, value: None)


def test_a_loop_says_how_long_and_where(stopped: None) -> None:
    report = run("def double(x):\n    while True:\n        x += 1\n")
    (row,) = report["results"]
    assert report["stopped"]["why"] == "interrupt" and report["stopped"]["hits"] > 1
    assert row["line"] in (2, 3)
    assert row["message"]["en"] == f"stopped after 0.3 s, at line {row['line']}"
    assert row["message"]["zh"] == f"运行 0.3 s 后停下，停在第 {row['line']} 行"


def test_what_swallows_the_interrupt_says_how_long(stopped: None) -> None:
    code = (
        "def double(x):\n    try:\n        while True: x += 1\n    except BaseException:\n        return 0\n"
    )
    report = run(code)
    (row,) = report["results"]
    assert report["stopped"]["why"] == "interrupt" and row["line"] is None
    assert row["message"] == {"zh": "运行 0.3 s 后停下", "en": "stopped after 0.3 s"}


def test_an_exception_of_its_own_is_told_as_ever(watched: None) -> None:
    report = run("def double(x):\n    raise KeyError(x)\n")
    assert [row["message"]["en"] for row in report["results"]] == [
        "line 2: KeyError: 2",
        "line 2: KeyError: 3",
    ]
    assert report["stopped"] is None
