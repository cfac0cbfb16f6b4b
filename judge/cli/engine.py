"""`judge.py engine`: the whole engine with every accepted function of the workspace in it. Nothing is graded.

    python -m judge.cli.engine LANG [PROGRAM]

is what the command starts, in a process of its own: the code is the learner's own, and runs as any program of
theirs does. Without a program the bundled model answers two questions, and its tokens are compared with those
that it writes without the learner's functions.
"""

from __future__ import annotations

import functools
import runpy
import sys
import traceback
from collections import Counter
from pathlib import Path
from types import FunctionType
from typing import Any

from judge.chat import chat
from judge.cli import workspace
from judge.exercises import Exercise, load_exercises
from judge.i18n import t
from judge.jobs import QUESTIONS
from judge.swap import SwapError
from judge.swap.whole import install_all, together
from minisgl.core import SamplingParams
from minisgl.llm import LLM

_PAGE, _PAGES, _TOKENS = 4, 64, 32
_FAILED = 1


def chosen() -> list[Exercise]:
    """Accepted exercises whose functions go into the engine together and whose files are there, by number."""
    done = workspace.accepted()
    found = [
        exercise
        for exercise in load_exercises().values()
        if exercise.id in done and workspace.file_of(exercise).is_file()
    ]
    return sorted(together(found), key=lambda exercise: exercise.id)


def main(lang: str, program: str = "") -> int:
    """The exit code: 0 when the run went to its end and, without a program, tokens and pages are right."""
    calls: Counter[str] = Counter()
    exercises = chosen()
    try:
        functions = [(exercise, _counted(exercise, _load(exercise), calls)) for exercise in exercises]
        if program:
            with install_all(functions):
                runpy.run_path(program, run_name="__main__")
            right = True
        else:
            right = _answer(functions, lang)
    except SwapError as error:
        print(t(f"verdict.{error.key}", lang, **error.values), file=sys.stderr)
        return _FAILED
    except Exception as error:  # whatever a learner's function may raise
        print(_where(error, lang), file=sys.stderr)
        return _FAILED
    print()
    print(t("cli.engine_with", lang, n=len(exercises)))
    for exercise in exercises:
        times = t("cli.engine_calls", lang, n=calls[exercise.key]) if exercise.kind == "function" else ""
        print(f"  {exercise.id}  {exercise.name:<22} {times}".rstrip())
    return 0 if right else _FAILED


def _load(exercise: Exercise) -> Any:
    """What the learner's file defines under the exercise's name."""
    return runpy.run_path(str(workspace.file_of(exercise)), run_name=exercise.slug)[exercise.name]


def _counted(exercise: Exercise, function: Any, calls: Counter[str]) -> Any:
    if not isinstance(function, FunctionType):
        return function

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        calls[exercise.key] += 1
        return function(*args, **kwargs)

    return counted


def _answer(functions: list[tuple[Exercise, Any]], lang: str) -> bool:
    """Two questions to the bundled model, first without the functions and then with them."""
    prompts = [chat(question, lang) for question in QUESTIONS[lang]]
    params = SamplingParams(max_tokens=_TOKENS)
    settings: dict[str, Any] = {"page_size": _PAGE, "num_page_override": _PAGES}
    expected = [result["token_ids"] for result in LLM(**settings).generate(prompts, params)]
    with install_all(functions):
        llm = LLM(**settings)
        results = llm.generate(prompts, params)
    for question, result in zip(QUESTIONS[lang], results, strict=True):
        print(f"› {question}\n  {result['text'].strip()}")
    same = [result["token_ids"] for result in results] == expected
    cache = llm.cache_manager
    pages = len(cache.free_slots) + cache.prefix_cache.size_info.total_size // _PAGE
    print(t("cli.engine_same" if same else "cli.engine_differs", lang, pages=pages, total=_PAGES))
    return same and pages == _PAGES


def _where(error: Exception, lang: str) -> str:
    """What happened, and in which line of the learner's files if it was there."""
    own = workspace.folder().resolve()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame for frame in frames if Path(frame.filename).resolve().is_relative_to(own)]
    where = f"{workspace.shown(Path(lines[-1].filename))}:{lines[-1].lineno}: " if lines else ""
    return t("cli.engine_raised", lang, problem=f"{where}{type(error).__name__}: {error}")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
