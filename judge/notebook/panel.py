"""`%%exercise 192`: the cell's source with buttons for samples, submission, hints and the run's animation.

The source stays in the cell, where the notebook keeps it; running the cell again takes it over.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import ipywidgets
from IPython.display import display

from judge.exercises import Exercise
from judge.i18n import t
from judge.notebook.magic import DOES_NOT_END
from judge.notebook.view import Outcome
from judge.types import RunResult

_ANIMATIONS = Path(__file__).resolve().parents[2] / "animations" / "for_exercise.json"

Judge: TypeAlias = Callable[[Exercise, str, bool], RunResult]
"""Judges a source; True: the samples alone."""


class Panel(ipywidgets.VBox):
    """Buttons below one cell, and what the last one that was pressed showed."""

    def __init__(
        self,
        exercise: Exercise,
        source: str,
        lang: str,
        judge: Judge,
        defined: Callable[[str], Any] = lambda name: None,
    ) -> None:
        """
        Args:
            exercise: what the cell is for.
            source: the cell's text, the submission.
            lang: "zh" or "en".
            judge: how it is judged.
            defined: what a name means in the notebook, where the cell runs once it is judged.
        """
        self.exercise, self.source, self.lang, self._judge = exercise, source, lang, judge
        self._defined = defined
        self.result: RunResult | None = None
        self._hints = 0
        self.samples = self._button("panel_samples", lambda: self._run(samples_only=True))
        self.submit = self._button("panel_submit", lambda: self._run(samples_only=False), style="primary")
        self.hint = self._button("panel_hint", self._hint)
        self.hint.disabled = not exercise.hints
        self.animate = self._button("panel_animate", self._animate)
        self.animate.disabled = True
        self.status = ipywidgets.HTML(layout=ipywidgets.Layout(margin="0 0 0 8px"))
        self.shown = ipywidgets.Output()
        buttons = [self.samples, self.submit, self.hint]
        if exercise.place != "none" or exercise.own_run is not None:
            buttons.append(self.animate)
        title = f"{exercise.id} {exercise.name} · {exercise.title[lang]}"
        head = ipywidgets.HTML(f'<strong lang="{lang}">{html.escape(title)}</strong>')
        row = ipywidgets.HBox([*buttons, self.status], layout=ipywidgets.Layout(flex_flow="row wrap"))
        super().__init__([head, row, self.shown])

    def _button(self, word: str, act: Callable[[], None], style: str = "") -> ipywidgets.Button:
        button = ipywidgets.Button(
            description=t(f"notebook.{word}", self.lang),
            button_style=style,
            layout=ipywidgets.Layout(width="auto"),
        )
        button.on_click(lambda _: act())
        return button

    def _run(self, *, samples_only: bool) -> None:
        """Judge, and show what came of it."""
        self.status.value = html.escape(t("notebook.panel_busy", self.lang))
        self.shown.clear_output()
        try:
            result = self._judge(self.exercise, self.source, samples_only)
            if not samples_only:
                self.result = result
                self.animate.disabled = not result.trace
            if self.exercise.own_run is not None:
                self.animate.disabled = result.verdict in DOES_NOT_END
            self._show(Outcome(self.exercise, result, self.lang))
        finally:
            self.status.value = ""

    def _hint(self) -> None:
        """One more each time; the last stays."""
        self._hints = min(self._hints + 1, len(self.exercise.hints))
        hints = [each[self.lang] for each in self.exercise.hints[: self._hints]]
        items = "".join(f"<li>{html.escape(each)}</li>" for each in hints)
        self.status.value = f"{self._hints} / {len(self.exercise.hints)}"
        self._show(ipywidgets.HTML(f'<ol lang="{self.lang}">{items}</ol>'))

    def _animate(self) -> None:
        """What the engine did in the submission's run, or the own run, by the animation that fits best."""
        if self.exercise.own_run is not None:
            self._play()
        elif self.result is not None and self.result.trace:
            self._show_trace(self.result.trace)

    def _play(self) -> None:
        """The cell's own code, as it is defined in the notebook."""
        from judge.notebook.own_run import play

        target = self._defined(self.exercise.name)
        if self.animate.disabled or target is None:
            return
        events, raised = play(self.exercise, target, self.lang)
        self.status.value = html.escape(t("notebook.panel_raised", self.lang, error=raised)) if raised else ""
        self._show_trace(events, code=self.source)

    def _show_trace(self, events: list[Any], code: str = "") -> None:
        from judge.notebook.animation import show_animation

        self._show(show_animation(animation_of(self.exercise), events, lang=self.lang, code=code))

    def _show(self, value: Any) -> None:
        self.shown.clear_output(wait=True)
        with self.shown:
            display(value)


@lru_cache(maxsize=1)
def _table() -> dict[str, Any]:
    table: dict[str, Any] = json.loads(_ANIMATIONS.read_text(encoding="utf-8"))
    return table


def animation_of(exercise: Exercise) -> str:
    """The animation that shows a run of it best, by animations/for_exercise.json."""
    names = _table()["exercises"].get(str(exercise.id), _table()["otherwise"])
    return str(names[0])
