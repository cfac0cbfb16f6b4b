"""How often a line has run, for a loop that had to be stopped: statements between branches count as one.

`sys.monitoring` would make each line many times slower; a counter costs one addition where the flow can part.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from types import CodeType

NAME = "__hits__"
"""The list of counters in the learner's module; a name of this form is not mangled in a class."""

_BLOCKS = ("body", "orelse", "finalbody")
_COMPOUND = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.TryStar, ast.Match)
_LOOPS = (ast.For, ast.While)
_Scope = ast.FunctionDef | ast.AsyncFunctionDef


class Counter:
    """The counters of a module, and which of them stands for each line."""

    def __init__(self) -> None:
        self.hits: list[int] = []
        self._of_line: dict[int, int] = {}

    def of(self, line: int | None) -> int | None:
        """How often the line was begun; None for one that is not counted."""
        index = self._of_line.get(line) if line is not None else None
        return None if index is None else self.hits[index]

    def new(self) -> int:
        self.hits.append(0)
        return len(self.hits) - 1

    def covers(self, first: int, last: int, index: int) -> None:
        """The lines are counted by the counter; a later call, of a block inside, takes lines over."""
        self._of_line.update(dict.fromkeys(range(first, last + 1), index))


def compiled(text: str, tree: ast.Module, filename: str) -> tuple[CodeType, Counter]:
    """The module's code, with counters where its nesting allows it."""
    counter = Counter()
    try:
        _Ticks(counter).into(tree.body, counted=False)
        return compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True), counter
    except RecursionError:
        return compile(text, filename, "exec", dont_inherit=True), Counter()


class _Ticks:
    """Puts ``__hits__[i] += 1`` in front of each run of statements, in place."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def into(self, statements: list[ast.stmt], *, counted: bool) -> None:
        """A block; what is outside of loops and functions runs once and is not counted."""
        done: list[ast.stmt] = []
        index: int | None = None
        for number, statement in enumerate(statements):
            is_docstring = number == 0 and isinstance(statement, ast.Expr) and _is_text(statement.value)
            if counted and index is None and not is_docstring:
                index = self._counter.new()
                done.append(_tick(index, statement))
            if index is not None:
                self._counter.covers(statement.lineno, statement.end_lineno or statement.lineno, index)
            self._inside(statement, counted=counted)
            done.append(statement)
            if isinstance(statement, _COMPOUND):
                index = None  # it may have left the block
        statements[:] = done

    def _inside(self, statement: ast.stmt, *, counted: bool) -> None:
        if isinstance(statement, _Scope):
            self.into(statement.body, counted=True)
        elif isinstance(statement, ast.ClassDef):
            self.into(statement.body, counted=False)
        elif isinstance(statement, _COMPOUND):
            first = len(self._counter.hits)
            for block in _blocks(statement):
                self.into(block, counted=counted or isinstance(statement, _LOOPS))
            if isinstance(statement, _LOOPS):  # its head is passed as often as its body
                self._counter.covers(statement.lineno, statement.body[0].lineno - 1, first)


def _blocks(statement: ast.stmt) -> Iterable[list[ast.stmt]]:
    for name in _BLOCKS:
        if block := getattr(statement, name, None):
            yield block
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def _tick(index: int, at: ast.stmt) -> ast.stmt:
    place = ast.Subscript(ast.Name(NAME, ast.Load()), ast.Constant(index), ast.Store())
    tick = ast.AugAssign(place, ast.Add(), ast.Constant(1))
    return ast.copy_location(tick, at)


def _is_text(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, str)
