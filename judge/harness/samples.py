"""The public samples: run in the box, shown in full."""

from __future__ import annotations

from collections.abc import Callable

from judge.exercises import Exercise
from judge.sample_words import message, titles
from judge.sandbox import Box, SampleAnswer
from judge.types import SampleResult, Text


def run_samples(
    exercise: Exercise, box: Box, meanwhile: Callable[[], None] | None = None
) -> list[SampleResult]:
    """Run every sample on the loaded submission; ``meanwhile`` is called here beside it. Raises Stopped.

    One result a sample, whatever the box says: a sample that it does not mention has failed.
    """
    answers = {answer.name: answer for answer in box.samples(exercise.samples, meanwhile=meanwhile)}
    shown = titles(exercise.samples)
    return [
        _shown(answers[name], title) if name in answers else SampleResult(name, False, title)
        for name, title in shown.items()
    ]


def _shown(answer: SampleAnswer, title: Text) -> SampleResult:
    return SampleResult(
        name=answer.name,
        ok=answer.ok,
        title=title,
        line=answer.line,
        assertion=answer.assertion,
        expected=answer.expected,
        got=answer.got,
        message=message(answer.raised_line, answer.message),
        stdout=answer.stdout,
    )
