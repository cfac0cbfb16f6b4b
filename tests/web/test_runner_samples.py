"""Samples in the tab: for every exercise that is there, and in the words of the command line."""

from __future__ import annotations

import pytest
from runner_fixtures import runner, runner_site
from runner_site import RunnerPage

from judge.exercises import Exercise, load_exercises
from judge.solution import solution_text
from judge.starter import starter

__all__ = ["runner", "runner_site"]

EXERCISES = [exercise for exercise in load_exercises().values() if exercise.browser != "server"]


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.key)
def test_samples_pass_with_the_reference_and_not_with_the_starter(
    exercise: Exercise, runner: RunnerPage
) -> None:
    report = runner.samples(exercise, solution_text(exercise))
    failed = [result for result in report["results"] if not result["ok"]]
    assert (report["stopped"], report["cannot"], failed) == (None, None, [])
    assert [result["name"] for result in report["results"]] == [
        line.split("(")[0].removeprefix("def ")
        for line in exercise.samples.splitlines()
        if line.startswith("def test_")
    ]

    report = runner.samples(exercise, starter(exercise, "en"))
    assert report["stopped"] is None
    assert report["cannot"] is None
    assert not all(result["ok"] for result in report["results"])
    assert runner.problems == []
