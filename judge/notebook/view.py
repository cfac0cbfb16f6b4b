"""A verdict as a notebook's output: HTML where it can be shown, the command line's text everywhere else."""

from __future__ import annotations

import html

from judge.cli.report import result_lines
from judge.exercises import Exercise
from judge.i18n import t
from judge.types import RunResult, Verdict

_COLOUR = {Verdict.AC: "#0A6656", Verdict.SE: "#5A6873"}
_WRONG = "#AD3410"


class Outcome:
    """One judged cell. `result` is the whole answer."""

    def __init__(self, exercise: Exercise, result: RunResult, lang: str) -> None:
        self.exercise, self.result, self.lang = exercise, result, lang

    def __repr__(self) -> str:
        return "\n".join(result_lines(self.exercise, self.result, self.lang))

    def _repr_html_(self) -> str:
        colour = _COLOUR.get(self.result.verdict, _WRONG)
        head = f"{self.exercise.id} {self.exercise.name} · {self.exercise.title[self.lang]}"
        return (
            f'<section lang="{self.lang}" aria-label="{html.escape(t("notebook.verdict", self.lang))}" '
            f'style="border-top:3px solid {colour};padding:8px 0;max-width:672px">'
            f"<strong>{html.escape(head)}</strong>"
            f'<pre style="white-space:pre-wrap;margin:8px 0 0">{html.escape(repr(self))}</pre></section>'
        )
