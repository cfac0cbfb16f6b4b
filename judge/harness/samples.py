"""The public samples: run in the box, shown in full."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache

from judge.exercises import Exercise
from judge.i18n import both
from judge.sandbox import Box, SampleAnswer
from judge.types import SampleResult, Text


def run_samples(
    exercise: Exercise, box: Box, meanwhile: Callable[[], None] | None = None
) -> list[SampleResult]:
    """Run every sample on the loaded submission; ``meanwhile`` is called here beside it. Raises Stopped.

    One result a sample, whatever the box says: a sample that it does not mention has failed.
    """
    answers = {answer.name: answer for answer in box.samples(exercise.samples, meanwhile=meanwhile)}
    titles = _titles(exercise.samples)
    return [
        _shown(answers[name], title) if name in answers else SampleResult(name, False, title)
        for name, title in titles.items()
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
        message=_message(answer),
        stdout=answer.stdout,
    )


def _message(answer: SampleAnswer) -> Text:
    if answer.raised_line is not None:
        return both("verdict.sample_raised", line=answer.raised_line, message=answer.message)
    return _two_lines(answer.message) if answer.message else {}


@lru_cache(maxsize=64)
def _titles(source: str) -> dict[str, Text]:
    """A sample's docstring is its title: a line of Chinese, a line of English. Without one, its name is."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    tests = [function for function in functions if function.name.startswith("test_")]
    return {test.name: _two_lines(ast.get_docstring(test) or test.name) for test in tests}


def _two_lines(text: str) -> Text:
    zh, _, en = text.partition("\n")
    return {"zh": zh.strip(), "en": en.strip() or zh.strip()}
