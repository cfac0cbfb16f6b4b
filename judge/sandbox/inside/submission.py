"""Turn the learner's bytes into a module, find the target in it, and say in plain terms why that fails."""

from __future__ import annotations

import inspect
import linecache
import sys
import traceback
from types import ModuleType, TracebackType
from typing import Any, Literal

from judge.sandbox.protocol import Load, Parameter, Raised

MODULE = "submission"
_MESSAGE = 500


class Unusable(Exception):
    """The module cannot be judged: the verdict, a reason that words hang on, and the exception behind it."""

    def __init__(self, verdict: Literal["CE", "RE"], reason: str, raised: Raised) -> None:
        super().__init__(reason)
        self.verdict = verdict
        self.reason = reason
        self.raised = raised


def load(order: Load) -> Any:
    """The target that the module defines. Raises Unusable."""
    if not order.source.strip(b" \t\r\n\0\xef\xbb\xbf"):
        raise Unusable("CE", "empty", Raised("SyntaxError", "the file is empty"))
    try:
        # As text, so that an encoding declared in it cannot make this another file than the judge has read.
        text = order.source.decode("utf-8-sig")
        code = compile(text, order.filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        line = error.lineno or None if isinstance(error, SyntaxError) else None
        raise Unusable("CE", "syntax", Raised(type(error).__name__, message_of(error), line)) from None
    module = ModuleType(MODULE)
    module.__file__ = order.filename
    sys.modules[MODULE] = module
    linecache.cache[order.filename] = (len(text), None, text.splitlines(True), order.filename)
    try:
        exec(code, module.__dict__)
    except BaseException as error:
        raise Unusable("RE", "import", describe(error, order.filename)) from None
    return _find(module, order)


def _find(module: ModuleType, order: Load) -> Any:
    if order.target not in module.__dict__:
        raise Unusable("CE", "missing", Raised("NameError", order.target))
    target = module.__dict__[order.target]
    line = _line_of(target, order.filename)
    if isinstance(target, type) != (order.kind == "class") or not callable(target):
        raise Unusable("CE", "kind", Raised("TypeError", f"{order.target}: {type(target).__name__}", line))
    missing = [name for name in order.members if not hasattr(target, name)]
    if missing:
        raise Unusable("CE", "members", Raised("AttributeError", ", ".join(missing), line))
    if order.parameters is not None:
        _check_signature(target, order, line)
    return target


def _check_signature(target: Any, order: Load, line: int | None) -> None:
    try:
        theirs = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return
    if not fits(order.parameters or [], theirs):
        due = ", ".join(parameter.name for parameter in order.parameters or [])
        raise Unusable("CE", "signature", Raised("TypeError", f"{order.target}({due})", line))


def fits(due: list[Parameter], theirs: list[inspect.Parameter]) -> bool:
    """Whether every call that the due parameters allow is one that ``theirs`` take, too."""
    kinds = inspect.Parameter
    names = {parameter.name for parameter in theirs}
    star = any(parameter.kind is kinds.VAR_POSITIONAL for parameter in theirs)
    double_star = any(parameter.kind is kinds.VAR_KEYWORD for parameter in theirs)
    positional = [p for p in theirs if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)]
    due_positional = [p for p in due if p.kind.startswith("POSITIONAL")]
    due_keyword = [p for p in due if p.kind == "KEYWORD_ONLY"]
    if len(positional) < len(due_positional) and not star:
        return False
    pairs = list(zip(due_positional, positional, strict=False))
    if any(one.kind != "POSITIONAL_ONLY" and one.name != other.name for one, other in pairs):
        return False
    if any(one.default and other.default is kinds.empty for one, other in pairs):
        return False
    if any(parameter.name not in names for parameter in due_keyword) and not double_star:
        return False
    extra = [*positional[len(due_positional) :], *(p for p in theirs if p.kind is kinds.KEYWORD_ONLY)]
    given = {parameter.name for parameter in due_keyword}
    return all(p.default is not kinds.empty for p in extra if p.name not in given)


def describe(error: BaseException, filename: str) -> Raised:
    """Class, message and the line of the learner's file that was running."""
    if isinstance(error, SyntaxError) and error.filename == filename:
        return Raised(type(error).__name__, message_of(error), error.lineno)
    return Raised(type(error).__name__[:100], message_of(error), line_in(error.__traceback__, filename))


def line_in(trace: TracebackType | None, filename: str) -> int | None:
    """The line of the innermost frame of that file, or None when it has no frame in the trace."""
    lines = [line for frame, line in traceback.walk_tb(trace) if frame.f_code.co_filename == filename]
    return lines[-1] if lines else None


def message_of(error: BaseException) -> str:
    """``str(error)``, cut, clean Unicode, and safe even when the learner's ``__str__`` is not."""
    try:
        text = error.msg if isinstance(error, SyntaxError) else str(error)
    except BaseException as inner:
        text = f"({type(inner).__name__} while asking for the message)"
    return str(text)[:_MESSAGE].encode("utf-8", "replace").decode()


def _line_of(target: Any, filename: str) -> int | None:
    code = getattr(target, "__code__", None)
    return code.co_firstlineno if code is not None and code.co_filename == filename else None
