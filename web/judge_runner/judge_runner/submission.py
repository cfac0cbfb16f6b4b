"""The learner's file as a module: checked as the judge checks it, in the judge's words."""

from __future__ import annotations

import ast
import sys
from types import ModuleType
from typing import Any

from judge.i18n import both
from judge.parsing import CannotJudge, Due, check_target, clean, due_in, parse
from judge_runner import errors
from judge_runner.counting import NAME, Counter, compiled

MODULE = "submission"


class CannotRun(Exception):
    """The file cannot be run at all; ``told`` is what the page shows (``CannotRun`` in runner/types.ts)."""

    def __init__(
        self, kind: str, message: dict[str, str], line: int | None = None, column: int | None = None
    ) -> None:
        super().__init__(message["en"])
        self.told = {"kind": kind, "line": line, "column": column, "message": message}


def load(code: str, exercise: dict[str, Any], counters: list[Counter] | None = None) -> Any:
    """The target that the learner's file defines. With ``counters``, one that counts its lines is appended.

    Raises:
        CannotRun: the file does not parse, does not define the target as due, or raises while it is imported.
        KeyboardInterrupt, MemoryError, OutputLimit: while it is imported.
    """
    due = due_in(exercise["interface"], exercise["target"], tuple(exercise["members"]))
    try:
        text = clean(code)
        tree = parse(text)
        check_target(due, tree)
    except CannotJudge as refused:
        raise CannotRun(refused.kind, refused.text, refused.line, refused.column) from None
    return _target(_execute(text, tree, counters), due)


def _execute(text: str, tree: ast.Module, counters: list[Counter] | None) -> ModuleType:
    """The module that the text is. Raises as ``load`` does."""
    errors.remember_source(text)
    module = ModuleType(MODULE)
    module.__file__ = errors.FILE
    sys.modules[MODULE] = module
    try:
        if counters is None:
            code = compile(text, errors.FILE, "exec", dont_inherit=True)
        else:
            code, counter = compiled(text, tree, errors.FILE)
            counters.append(counter)
            module.__dict__[NAME] = counter.hits
        exec(code, module.__dict__)
    except (KeyboardInterrupt, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        told = errors.told(error)
        kind = "import" if isinstance(error, ImportError) else "exception"
        message = both("verdict.load_re", error=told["message"])
        raise CannotRun(kind, message, told["line"]) from None
    return module


def _target(module: ModuleType, due: Due) -> Any:
    """What only the object itself can tell; the rest ``check_target`` has told."""
    if due.name not in module.__dict__:
        raise CannotRun("missing_name", both("verdict.ce_missing", name=due.name))
    target = module.__dict__[due.name]
    is_class = not hasattr(due.reference, "args")
    if isinstance(target, type) != is_class or not callable(target):
        kind = "class" if is_class else "function"
        raise CannotRun("wrong_kind", both(f"verdict.ce_not_{kind}", name=due.name))
    for member in due.members:
        if not hasattr(target, member):
            raise CannotRun("missing_name", both("verdict.ce_missing", name=f"{due.name}.{member}"))
    return target
