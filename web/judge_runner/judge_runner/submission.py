"""The learner's file as a module: checked as the judge checks it, in the judge's words."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, ModuleType
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


def load(
    code: str,
    exercise: dict[str, Any],
    begun: Callable[[], None],
    counters: list[Counter] | None = None,
) -> Any:
    """The target that the learner's file defines. With ``counters``, one that counts its lines is appended.

    ``begun`` is called between reading the file and running it. What ends Python before that is the form of
    the file: the stack is the browser's here, and Python does not see that it is full.

    Raises:
        CannotRun: the file does not parse, does not define the target as due, or raises while it is imported.
        KeyboardInterrupt, MemoryError, OutputLimit: while it is imported.
    """
    due = due_in(exercise["interface"], exercise["target"], tuple(exercise["members"]))
    text, program, counter = _read(code, due, counted=counters is not None)
    if counters is not None:
        counters.append(counter)
    begun()
    return _target(_execute(text, program, counter), due)


def _read(text: str, due: Due, *, counted: bool) -> tuple[str, CodeType, Counter]:
    """The clean text and its code. The tree ends with this call: to free a deep one takes the stack, too."""
    try:
        text = clean(text)
        tree = parse(text)
        check_target(due, tree)
    except CannotJudge as refused:
        raise CannotRun(refused.kind, refused.text, refused.line, refused.column) from None
    try:
        if not counted:
            return text, compile(text, errors.FILE, "exec", dont_inherit=True), Counter()
        code, counter = compiled(text, tree, errors.FILE)
        return text, code, counter
    except Exception as error:
        raise _cannot(error) from None


def _execute(text: str, code: CodeType, counter: Counter) -> ModuleType:
    """The module that the text is. Raises as ``load`` does."""
    errors.remember_source(text)
    module = ModuleType(MODULE)
    module.__file__ = errors.FILE
    sys.modules[MODULE] = module
    module.__dict__[NAME] = counter.hits
    try:
        exec(code, module.__dict__)
    except (KeyboardInterrupt, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise _cannot(error) from None
    return module


def _cannot(error: BaseException) -> CannotRun:
    told = errors.told(error)
    kind = "import" if isinstance(error, ImportError) else "exception"
    return CannotRun(kind, both("verdict.load_re", error=told["message"]), told["line"])


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
