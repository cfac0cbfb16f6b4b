"""`points(192)`: the last cell under an exercise of an nbgrader notebook.

In the learner's kernel it tells what the judge gave last. The grade does not come from here: when a notebook
is graded, no cell of it runs (see `judge.notebook.nbgrader`).
"""

from __future__ import annotations

from judge.cli.language import from_locale
from judge.exercises import find
from judge.i18n import t
from judge.types import RunResult

_results: dict[int, RunResult] = {}


def remember(result: RunResult) -> None:
    """Keep the result of a `%%judge` cell."""
    _results[result.exercise] = result


def points(exercise: int | str, most: float | None = None, lang: str | None = None) -> float:
    """Points of the last `%%judge` of this exercise in this kernel, 0.0 with a word if there is none.

    Args:
        most: the points that the class gives for it; left out, the exercise's own.

    Raises:
        KeyError: there is no such exercise.
    """
    found = find(str(exercise))
    result = _results.get(found.id)
    if result is None:
        print(t("notebook.not_yet", lang or from_locale(), exercise=found.id))
        return 0.0
    return points_of(result, found.points if most is None else most)


def points_of(result: RunResult, most: float) -> float:
    """Partial credit of a run in points, never above `most`."""
    return min(float(most), round(result.score * float(most), 2))
