"""Every exercise is proved in real boxes: reference, starters and mutants go the way of a submission."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from judge.exercises import Exercise
from judge.harness.prove import prove
from judge.sandbox import Pool


@pytest.fixture(scope="module")
def boxes() -> Iterator[Pool]:
    with Pool() as shared:
        yield shared


def test_unit_part_is_proved(exercise: Exercise, boxes: Pool) -> None:
    assert prove(exercise, boxes, engine=False, seed=b"unit") == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", [b"first", b"second"])
def test_exercise_is_proved_with_the_engine(exercise: Exercise, boxes: Pool, seed: bytes) -> None:
    assert prove(exercise, boxes, engine=True, seed=seed) == []
