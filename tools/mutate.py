"""Single-point mutants of a function: what hidden tests are measured with.

``python -m tools.mutate 192`` lists the mutants of a reference that its hidden tests let live.
"""

from __future__ import annotations

import ast
import builtins
import copy
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeGuard

from judge.exercises import Exercise, find
from judge.harness.local import expected_answer, load_reference, load_target, run_local
from judge.harness.outcome import judge_case
from judge.solution import solution_text
from judge.types import Verdict

CASE_CPU_S = 0.5  # a mutant that needs longer for one case loops

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}


@dataclass(frozen=True)
class Change:
    """One mutant: the whole module, and what was changed, as ``old -> new``."""

    what: str
    source: str


class _Loops(BaseException):
    """The mutant does not end."""


def mutants(source: str, name: str) -> Iterator[Change]:
    """Every single-point mutant of the function or class ``name`` in ``source``, in the order of the code.

    Error messages and trace events are left alone: no rule is about them.
    """
    tree = ast.parse(source)
    bodies = _bodies(tree, name)
    for body in bodies:
        body[:] = [statement for statement in body if not ast.unparse(statement).startswith("trace.emit(")]
    read = {node.id for node in _nodes(tree, name) if _is_read(node)} | {"*"}
    for body in bodies:
        body[:] = [s for s in body if not (isinstance(s, ast.Assign) and not _assigned(s) & read)]
    seen = {ast.unparse(tree)}
    names = sorted(read - {"*", *dir(builtins)})
    for place, node in enumerate(_nodes(tree, name)):
        for number, new in enumerate(_variants(node, names)):
            changed = copy.deepcopy(tree)
            twin = list(_nodes(changed, name))[place]
            _replace(changed, twin, list(_variants(twin, names))[number])
            text = ast.unparse(ast.fix_missing_locations(changed))
            if text not in seen:
                seen.add(text)
                yield Change(f"{ast.unparse(node)} -> {ast.unparse(new)}".replace("\n", " "), text + "\n")


def _bodies(tree: ast.Module, name: str) -> list[list[ast.stmt]]:
    """The statements of the function ``name``, or of each method of the class, docstrings removed."""
    found = next(n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name)
    scope = found.body if isinstance(found, ast.ClassDef) else [found]
    functions = [node for node in scope if isinstance(node, ast.FunctionDef)]
    for function in functions:
        if ast.get_docstring(function) is not None:
            del function.body[0]
    return [function.body for function in functions]


def _nodes(tree: ast.Module, name: str) -> Iterator[ast.AST]:
    """The statements and expressions of the function, from the outside in."""
    waiting: list[ast.AST] = [statement for body in _bodies(tree, name) for statement in body]
    while waiting:
        node = waiting.pop(0)
        yield node
        waiting += _children(node)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """What of it counts: no error message, no annotation, no docstring of an inner function."""
    left_out = [getattr(node, "annotation", None), getattr(node, "returns", None)]
    if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
        left_out.append(node.body[0])
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.JoinedStr) and not any(child is one for one in left_out):
            yield child


def _is_read(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _assigned(statement: ast.Assign) -> set[str]:
    """Names that the statement sets; "*" stands for an attribute or an item."""
    parts = [part for target in statement.targets for part in ast.walk(target)]
    others = {"*"} if any(isinstance(part, ast.Attribute | ast.Subscript) for part in parts) else set()
    return {part.id for part in parts if isinstance(part, ast.Name)} | others


def _variants(node: ast.AST, names: list[str]) -> Iterator[ast.AST]:
    """What may stand in place of ``node``; a variable that is read gives way to each other one."""
    if _is_read(node) and node.id in names:
        yield from (ast.Name(other, ast.Load()) for other in names if other != node.id)
    elif isinstance(node, ast.Compare):
        for i, operator in enumerate(node.ops):
            yield _with(node, ops=[*node.ops[:i], _COMPARE[type(operator)](), *node.ops[i + 1 :]])
    elif isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        yield _with(node, op=_BINARY[type(node.op)]())
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for i in range(len(node.values)):
            rest = node.values[:i] + node.values[i + 1 :]
            yield rest[0] if len(rest) == 1 else _with(node, values=rest)
    elif isinstance(node, ast.UnaryOp):
        yield node.operand
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.Slice):
        yield from (_with(node, **{end: None}) for end in ("lower", "upper") if getattr(node, end))
    elif isinstance(node, ast.Call):
        yield from _calls(node)
    elif isinstance(node, ast.IfExp):
        yield from (node.body, node.orelse)
    elif isinstance(node, ast.If | ast.While):
        yield _with(node, test=ast.UnaryOp(ast.Not(), node.test))
        yield _with(node, test=ast.Constant(False))
        if isinstance(node, ast.If):
            yield _with(node, test=ast.Constant(True))
    elif isinstance(node, ast.Expr | ast.Assign | ast.AugAssign | ast.Raise | ast.Return):
        yield ast.Pass()


def _constants(node: ast.Constant) -> Iterator[ast.AST]:
    if isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node.value, int):
        yield from (ast.Constant(node.value + 1), ast.Constant(node.value - 1))


def _calls(node: ast.Call) -> Iterator[ast.AST]:
    if len(node.args) >= 2 and ast.unparse(node.func) not in ("min", "max"):
        yield _with(node, args=[node.args[1], node.args[0], *node.args[2:]])
    if isinstance(node.func, ast.Name) and node.func.id in ("min", "max"):
        yield _with(node, func=ast.Name({"min": "max", "max": "min"}[node.func.id], ast.Load()))
        yield from node.args
    if isinstance(node.func, ast.Name) and node.func.id in ("any", "all"):
        yield _with(node, func=ast.Name({"any": "all", "all": "any"}[node.func.id], ast.Load()))
    if isinstance(node.func, ast.Attribute) and not node.args:  # x.clone() -> x
        yield node.func.value


def _with(node: ast.AST, **fields: object) -> ast.AST:
    changed = copy.copy(node)
    for field, value in fields.items():
        setattr(changed, field, value)
    return changed


def _replace(tree: ast.Module, old: ast.AST, new: ast.AST) -> None:
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is old:
                setattr(parent, field, new)
            elif isinstance(value, list) and any(item is old for item in value):
                setattr(parent, field, [new if item is old else item for item in value])


@contextmanager
def _watched(seconds: float) -> Iterator[None]:
    """Raise _Loops inside once this much CPU time is used."""

    def over(number: int, frame: FrameType | None) -> None:
        raise _Loops

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _have_own_data(target: Any) -> None:
    """Give a mutant copies of the tables that it imports: it may write into whatever it finds."""
    for function in vars(target).values() if isinstance(target, type) else [target]:
        for name, value in getattr(function, "__globals__", {}).items():
            if isinstance(value, dict | list | set) and not name.startswith("__"):
                function.__globals__[name] = copy.deepcopy(value)


def survivors(exercise: Exercise, seed: str) -> tuple[list[Change], int]:
    """The mutants of the reference that pass all hidden cases of this seed, and the number of mutants."""
    hidden = exercise.hidden
    cases = hidden.cases(seed)
    reference = load_reference(exercise)
    due = [expected_answer(hidden, reference, case)[0] for case in cases]
    alive, count = [], 0
    for count, change in enumerate(mutants(solution_text(exercise), exercise.name), start=1):
        target = load_target(exercise, change.source, f"<mutant {count} of {exercise.key}>")
        _have_own_data(target)
        for case, expected in zip(cases, due, strict=True):
            try:
                with _watched(CASE_CPU_S), warnings.catch_warnings(action="ignore"):
                    answer = run_local(hidden, target, case, "<mutant>")
            except _Loops:
                break
            if judge_case(hidden, case, expected, answer).verdict is not Verdict.AC:
                break
        else:
            alive.append(change)
    return alive, count


def main() -> None:
    """Print the survivors of each exercise named on the command line."""
    for name in sys.argv[1:]:
        alive, count = survivors(find(name), "mutants")
        print(f"{name}: {count - len(alive)} of {count} killed")
        for change in alive:
            print(f"  {change.what}")


if __name__ == "__main__":
    main()
