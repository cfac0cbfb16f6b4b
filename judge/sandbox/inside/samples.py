"""Run public sample tests, ``test_*(target)`` with plain asserts, and explain a failed assert in full.

Standard library only, and no other module of ours: the browser runs this file, too.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

_SHOWN = 2000
_STDOUT = 8000
_PAIRED_CALLS = {"equal", "allclose", "isclose", "array_equal"}


@dataclass
class Outcome:
    """How one test went. ``line``: of the sample file; ``raised_line``: of the learner's."""

    name: str
    ok: bool
    line: int | None = None
    assertion: str = ""
    expected: str = ""
    got: str = ""
    message: str = ""
    stdout: str = ""
    raised_line: int | None = None


class Failed(AssertionError):
    """A failed assert with both of its sides."""

    def __init__(self, message: str, expected: str, got: str) -> None:
        super().__init__(message)
        self.expected = expected
        self.got = got


@dataclass(frozen=True)
class Prepared:
    """Tests ready to run: their code, and of each assert its first line, its last line and its condition."""

    code: CodeType
    asserts: list[tuple[int, int, str]]


def prepare(source: str, filename: str) -> Prepared:
    """Compile tests so that a failed assert keeps both of its sides. Raises SyntaxError."""
    tree = ast.parse(source, filename)
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    # the message of an assert is shown apart
    asserts = [(node.lineno, node.end_lineno or node.lineno, ast.unparse(node.test)) for node in found]
    tree = ast.fix_missing_locations(_Pairs(target_names=_target_names(tree)).visit(tree))
    return Prepared(compile(tree, filename, "exec", dont_inherit=True), asserts)


def run(source: str, filename: str, target: Any, learner_file: str = "") -> list[Outcome]:
    """Every ``test_*`` of ``source`` in order of definition, each called with ``target``."""
    return run_prepared(prepare(source, filename), filename, target, learner_file)


def run_prepared(prepared: Prepared, filename: str, target: Any, learner_file: str = "") -> list[Outcome]:
    """The same for tests that ``prepare`` has compiled under this ``filename``."""
    return list(iterate(prepared, filename, target, learner_file))


def iterate(prepared: Prepared, filename: str, target: Any, learner_file: str = "") -> Iterator[Outcome]:
    """The same, each as soon as it is there."""
    namespace: dict[str, Any] = {"__name__": "samples", "__file__": filename, "_judge_compare": _compare}
    exec(prepared.code, namespace)
    tests = [
        (name, value) for name, value in namespace.items() if name.startswith("test_") and callable(value)
    ]
    for name, test in tests:
        yield _run_one(name, test, target, filename, learner_file, prepared.asserts)


def _run_one(
    name: str,
    test: Any,
    target: Any,
    filename: str,
    learner_file: str,
    asserts: list[tuple[int, int, str]],
) -> Outcome:
    outcome = Outcome(name, False)
    printed = _Bounded()
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            test(*([target] if inspect.signature(test).parameters else []))
        outcome.ok = True
    except Failed as error:
        outcome.expected, outcome.got, outcome.message = error.expected, error.got, str(error)
        _locate(outcome, error, filename, asserts)
    except AssertionError as error:
        outcome.message = str(error)[:_SHOWN]
        _locate(outcome, error, filename, asserts)
        if _raised_in(error, learner_file):  # no sample's assert but the learner's own
            outcome.message = f"AssertionError: {shown(error, str)}".removesuffix(": ")
            outcome.raised_line = _last_line(error, learner_file)
    except BaseException as error:
        outcome.message = f"{type(error).__name__[:100]}: {shown(error, str)}".removesuffix(": ")
        _locate(outcome, error, filename, asserts)
        outcome.raised_line = _last_line(error, learner_file)
    outcome.stdout = printed.getvalue()
    return outcome


def _locate(
    outcome: Outcome, error: BaseException, filename: str, asserts: list[tuple[int, int, str]]
) -> None:
    outcome.line = _last_line(error, filename)
    for first, last, condition in asserts:
        if outcome.line is not None and first <= outcome.line <= last:
            outcome.line, outcome.assertion = first, condition


def _last_line(error: BaseException, filename: str) -> int | None:
    found = [n for frame, n in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == filename]
    return found[-1] if found else None


def _raised_in(error: BaseException, filename: str) -> bool:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_code.co_filename == filename


def shown(value: Any, render: Any = repr) -> str:
    """``repr(value)``, cut and clean, even when the learner's ``__repr__`` raises."""
    try:
        text = str(render(value))
    except BaseException as error:
        text = f"<{type(value).__name__}: {type(error).__name__} in its repr>"
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _compare(holds: Any, got: Any, expected: Any, message: Any) -> None:
    """What a rewritten assert calls with its condition and both of its sides."""
    if not holds:
        raise Failed("" if message is None else shown(message, str), shown(expected), shown(got))


class _Bounded(io.StringIO):
    """Keeps the first characters that are printed, and marks that more were."""

    _cut = False

    def write(self, text: str) -> int:
        room = max(0, _STDOUT - self.tell())
        self._cut |= len(text) > room
        super().write(text[:room])
        return len(text)

    def getvalue(self) -> str:
        return super().getvalue() + ("\n..." if self._cut else "")


class _Pairs(ast.NodeTransformer):
    """Rewrites ``assert left == right`` so that both sides are kept when it fails; evaluates each once."""

    def __init__(self, target_names: set[str]) -> None:
        self._target_names = target_names
        self._count = 0

    def visit_Assert(self, node: ast.Assert) -> ast.AST | list[ast.stmt]:
        pair = _pair(node.test)
        if pair is None:
            return node
        left, right = pair
        self._count += 1
        names = [f"_judge_left_{self._count}", f"_judge_right_{self._count}"]
        keep = [
            ast.Assign([ast.Name(name, ast.Store())], side)
            for name, side in zip(names, (left, right), strict=True)
        ]
        held: list[ast.expr] = [ast.Name(name, ast.Load()) for name in names]
        if isinstance(node.test, ast.Compare):
            condition: ast.expr = ast.Compare(held[0], node.test.ops, [held[1]])
        else:
            assert isinstance(node.test, ast.Call)
            condition = ast.Call(node.test.func, held, node.test.keywords)
        if self._calls_target(right) and not self._calls_target(left):
            held.reverse()
        message = node.msg or ast.Constant(None)
        call = ast.Call(ast.Name("_judge_compare", ast.Load()), [condition, *held, message], [])
        new: list[ast.stmt] = [*keep, ast.Expr(call)]
        return [ast.copy_location(statement, node) for statement in new]

    def _calls_target(self, side: ast.AST) -> bool:
        return any(isinstance(part, ast.Name) and part.id in self._target_names for part in ast.walk(side))


def _pair(test: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq | ast.Is):
        return test.left, test.comparators[0]
    if isinstance(test, ast.Call) and len(test.args) == 2:
        name = test.func.attr if isinstance(test.func, ast.Attribute) else getattr(test.func, "id", "")
        if name in _PAIRED_CALLS:
            return test.args[0], test.args[1]
    return None


def _target_names(tree: ast.Module) -> set[str]:
    """Parameters of the tests, and names assigned from a call of one of them."""
    names = {"target"}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            names.update(argument.arg for argument in node.args.args)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(part, ast.Name) and part.id in names for part in ast.walk(node.value)
        ):
            names.update(
                part.id for where in node.targets for part in ast.walk(where) if isinstance(part, ast.Name)
            )
    return names
