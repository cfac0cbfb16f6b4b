"""Counters of lines: how often each has run, and nothing else of the program is different."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "web" / "judge_runner"))

from judge_runner.counting import NAME, compiled

PROGRAM = '''"""A module."""
from __future__ import annotations


def f(n):
    """Of f."""
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        total += i
        try:
            if i == 4:
                raise ValueError
        except ValueError:
            total += 100
        else:
            total += 1
    while total > 0:
        total -= 50
    return total


class C:
    x = 1

    def g(self):
        return self.x


result = f(10), C().g(), f.__doc__
'''


def run(text: str) -> tuple[dict[str, Any], Any]:
    code, counter = compiled(text, ast.parse(text), "submission.py")
    space: dict[str, Any] = {NAME: counter.hits}
    exec(code, space)
    return space, counter


def lines_run(text: str) -> dict[int, int]:
    """What really runs, line by line."""
    counts: dict[int, int] = {}

    def trace(frame: Any, event: str, arg: Any) -> Any:
        if frame.f_code.co_filename != "plain.py":
            return None
        if event == "line":
            counts[frame.f_lineno] = counts.get(frame.f_lineno, 0) + 1
        return trace

    code = compile(text, "plain.py", "exec", dont_inherit=True)
    sys.settrace(trace)
    try:
        exec(code, {})
    finally:
        sys.settrace(None)
    return counts


def test_each_line_is_counted_as_often_as_it_runs() -> None:
    space, counter = run(PROGRAM)
    real = lines_run(PROGRAM)
    plain: dict[str, Any] = {}
    exec(compile(PROGRAM, "x", "exec", dont_inherit=True), plain)
    assert space["result"] == plain["result"]
    simple = {
        node.lineno
        for node in ast.walk(ast.parse(PROGRAM))
        if isinstance(node, ast.AugAssign | ast.Continue | ast.Raise | ast.Return)
    }
    assert {line: counter.of(line) for line in simple} == {line: real.get(line, 0) for line in simple}


def test_the_head_of_a_loop_counts_with_its_body() -> None:
    _, counter = run("def f():\n    n = 0\n    while n < 5:\n        n += 1\nf()\n")
    assert counter.of(3) == counter.of(4) == 5


def test_what_is_not_counted_says_nothing() -> None:
    _, counter = run("x = 1\n")
    assert counter.of(1) is None
    assert counter.of(99) is None
    assert counter.of(None) is None


def test_a_program_nested_too_deeply_runs_uncounted() -> None:
    deep = "x = 0\n" + "".join(f"{'elif' if k else 'if'} x == {k + 1}: pass\n" for k in range(1500))
    space, _ = run(deep)
    assert space["x"] == 0
