"""The tab's engine is set as the exercise's own runs on the judge are."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "web" / "judge_runner"))

from judge_runner.generate import settings_for

from judge.exercises import Exercise, load_exercises

IN_ENGINE = [each for each in load_exercises().values() if each.place != "none" and each.browser == "all"]


@pytest.mark.parametrize("exercise", IN_ENGINE, ids=lambda exercise: exercise.key)
def test_the_tab_sets_the_scheduler_as_the_judge_does(exercise: Exercise) -> None:
    first = exercise.hidden.make_jobs()[0]
    assert settings_for({"slug": exercise.slug}) == {"cache_type": first.cache_type, **first.scheduler}
