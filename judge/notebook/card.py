"""The frame of a result below a cell. Also used where Python runs in the browser."""

from __future__ import annotations

import html

from judge.exercises import Exercise

RIGHT, WRONG, NEITHER = "#0A6656", "#AD3410", "#5A6873"


def card(exercise: Exercise, lang: str, *, label: str, colour: str, text: str) -> str:
    """HTML: the exercise's name above ``text``, preformatted; ``label`` is what a screen reader calls it."""
    head = f"{exercise.id} {exercise.name} · {exercise.title[lang]}"
    return (
        f'<section lang="{lang}" aria-label="{html.escape(label)}" '
        f'style="border-top:3px solid {colour};padding:8px 0;max-width:672px">'
        f"<strong>{html.escape(head)}</strong>"
        f'<pre style="white-space:pre-wrap;margin:8px 0 0">{html.escape(text)}</pre></section>'
    )
