"""`%%judge 192` and `%%exercise 192`: the cell's source is the submission.

The cell is judged in the sandbox first, at once or when a button of the panel is pressed. Then, unless it
could not be judged or did not end, it also runs in the notebook, where the next cells can call the function.
"""

from __future__ import annotations

import atexit
from functools import lru_cache
from typing import TYPE_CHECKING

from IPython.core.magic import Magics, cell_magic, magics_class, needs_local_scope
from IPython.display import display

from judge.exercises import Exercise
from judge.notebook.line import asked
from judge.notebook.points import remember
from judge.notebook.view import Outcome
from judge.types import RunResult, Verdict

if TYPE_CHECKING:
    from judge.sandbox import Pool

DOES_NOT_END = {Verdict.CE, Verdict.TLE, Verdict.MLE, Verdict.OLE}


@lru_cache(maxsize=1)
def shared_pool() -> Pool:
    """One pool for the kernel's life: the second judgement does not wait for torch to be imported again."""
    from judge.sandbox import Pool

    pool = Pool()
    atexit.register(pool.close)
    return pool


@magics_class
class JudgeMagic(Magics):
    """The cell magic."""

    @needs_local_scope
    @cell_magic
    def judge(self, line: str, cell: str, local_ns: dict[str, object] | None = None) -> RunResult | None:
        """Judge the cell; `_` then holds the result (`.verdict`, `.score`, `.to_json()`)."""
        told = asked(line)
        if told is None:
            return None
        exercise, options, lang = told
        result = _judged(exercise, cell, engine="--no-engine" not in options, samples="--samples" in options)
        display(Outcome(exercise, result, lang))
        self._define(cell, result)
        return None

    @needs_local_scope
    @cell_magic
    def exercise(self, line: str, cell: str, local_ns: dict[str, object] | None = None) -> None:
        """Show the panel for the cell."""
        from judge.notebook.panel import Panel

        told = asked(line)
        if told is None:
            return
        exercise, options, lang = told

        def judge(exercise: Exercise, source: str, samples_only: bool) -> RunResult:
            engine = "--no-engine" not in options
            result = _judged(exercise, source, engine=engine, samples=samples_only)
            self._define(source, result)
            return result

        def defined(name: str) -> object:
            return self.shell.user_ns.get(name) if self.shell is not None else None

        display(Panel(exercise, cell, lang, judge, defined))

    def _define(self, cell: str, result: RunResult) -> None:
        if result.verdict not in DOES_NOT_END and self.shell is not None:
            self.shell.run_cell(cell)


def _judged(exercise: Exercise, cell: str, *, engine: bool, samples: bool) -> RunResult:
    from judge.run import judge_submission

    result = judge_submission(
        exercise,
        cell.encode(),
        pool=shared_pool(),
        engine=engine,
        samples_only=samples,
        filename=f"{exercise.key}.py",
    )
    if not samples:
        remember(result)
    return result
