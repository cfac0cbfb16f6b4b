"""Read a submitted file and check what can be told without running it."""

from __future__ import annotations

import ast

from judge.exercises import Exercise
from judge.i18n import both
from judge.parsing import (
    CannotJudge,
    Due,
    Function,
    bare,
    check_target,
    clean,
    is_static,
    parameters_of,
    parse,
    spelled,
)
from judge.sandbox import Parameter
from judge.starter import origin_of

__all__ = ["CannotJudge", "interface", "parameters", "read_source", "signature"]


def read_source(exercise: Exercise, raw: bytes) -> str:
    """The submission as text with ``\\n`` line ends; a byte order mark and CRLF are accepted.

    Raises CannotJudge: too large, not UTF-8, empty, does not parse, or does not define the target as due.
    """
    limit = exercise.limits.source_kb * 1024
    if len(raw) > limit:
        raise CannotJudge(both("verdict.ce_large", kb=exercise.limits.source_kb))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise CannotJudge(both("verdict.ce_encoding", line=line), line) from None
    text = clean(text)
    check_target(_due(exercise), parse(text))
    return text


def signature(exercise: Exercise) -> str:
    """How the statement writes the target, for example ``cache_req(self, req, *, finished)``."""
    reference = _reference(exercise)
    return exercise.name if isinstance(reference, ast.ClassDef) else spelled(reference)


def interface(exercise: Exercise) -> str:
    """The target's definition without bodies and annotations, which ``judge.parsing.due_in`` reads."""
    reference = _reference(exercise)
    if isinstance(reference, ast.ClassDef):
        methods = [_stub(member) for member in reference.body if isinstance(member, Function)]
        stub: ast.stmt = ast.ClassDef(reference.name, [], [], list(methods) or [ast.Pass()], [])
    else:
        stub = _stub(reference)
    return ast.unparse(ast.fix_missing_locations(stub))


def parameters(exercise: Exercise) -> list[Parameter] | None:
    """What the sandbox compares the function with; None for a class. The name of ``self`` is free."""
    due = _due(exercise)
    if isinstance(due.reference, ast.ClassDef):
        return None
    own = parameters_of(due.reference, due.bound)
    found = [Parameter(name, "POSITIONAL_OR_KEYWORD", name in own.optional) for name in own.positional]
    if own.positional[:1] == ["self"]:
        found[0] = Parameter("self", "POSITIONAL_ONLY")
    return found + [Parameter(name, "KEYWORD_ONLY", name in own.optional) for name in own.keyword]


def _due(exercise: Exercise) -> Due:
    reference = _reference(exercise)
    bound = "." in exercise.qualname and not is_static(reference)
    return Due(exercise.name, reference, exercise.members, bound)


def _reference(exercise: Exercise) -> Function | ast.ClassDef:
    return origin_of(exercise).definition(exercise.qualname)


def _stub(node: Function) -> ast.FunctionDef:
    static: list[ast.expr] = [ast.Name("staticmethod", ast.Load())] if is_static(node) else []
    return ast.FunctionDef(node.name, bare(node), [ast.Expr(ast.Constant(...))], static)
