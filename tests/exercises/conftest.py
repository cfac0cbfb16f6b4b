"""Every test of this folder runs for every exercise that is found."""

import pytest

from judge.exercises import Exercise, load_exercises

EXERCISES = load_exercises()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "exercise" in metafunc.fixturenames:
        metafunc.parametrize("exercise", EXERCISES.values(), ids=lambda exercise: exercise.key)


@pytest.fixture
def exercise(request: pytest.FixtureRequest) -> Exercise:
    found: Exercise = request.param
    return found
