"""On a machine that cannot isolate, the same judge gives the same results, and says that it is weak."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judge.exercises import find
from judge.run import judge_submission
from judge.sandbox import Pool
from judge.solution import solution_text
from judge.types import Verdict

WRONG = "def double_all(numbers):\n    return [3 * number for number in numbers]\n"
KILLED = "import os\ndef double_all(numbers):\n    os.kill(os.getpid(), 9)\n"
ENDLESS = "def double_all(numbers):\n    while True: pass\n"


@pytest.fixture(scope="module")
def weak() -> Iterator[Pool]:
    with Pool(isolation="weak") as pool:
        yield pool


def test_an_engine_exercise_is_accepted(weak):
    exercise = find("193")
    result = judge_submission(exercise, solution_text(exercise).encode(), pool=weak)
    assert (result.verdict, result.score) == (Verdict.AC, 1.0)
    assert result.isolation.startswith("weak") and result.engine is not None


@pytest.mark.parametrize(
    ("code", "verdict"), [(WRONG, Verdict.WA), (ENDLESS, Verdict.TLE), (KILLED, Verdict.RE)]
)
def test_what_is_wrong_is_not(make_toy, weak, code, verdict):
    assert judge_submission(make_toy(), code.encode(), pool=weak).verdict is verdict
