"""A verdict as a notebook's output: HTML where it can be shown, the command line's text everywhere else."""

from __future__ import annotations

from judge.cli.report import result_lines
from judge.exercises import Exercise
from judge.i18n import t
from judge.notebook.card import NEITHER, RIGHT, WRONG, card
from judge.types import RunResult, Verdict

_COLOUR = {Verdict.AC: RIGHT, Verdict.SE: NEITHER}


class Outcome:
    """One judged cell. `result` is the whole answer."""

    def __init__(self, exercise: Exercise, result: RunResult, lang: str) -> None:
        self.exercise, self.result, self.lang = exercise, result, lang

    def __repr__(self) -> str:
        return "\n".join(result_lines(self.exercise, self.result, self.lang))

    def _repr_html_(self) -> str:
        colour = _COLOUR.get(self.result.verdict, WRONG)
        label = t("notebook.verdict", self.lang)
        return card(self.exercise, self.lang, label=label, colour=colour, text=repr(self))
