"""Free code, as in the playground."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

from judge.parsing import CannotJudge, clean, parse
from judge.sandbox.inside.samples import shown
from judge_runner import errors
from judge_runner.ending import told_in
from judge_runner.output import Output, printing_to


def run(args: dict[str, Any], emit: Callable[[str, Any], None]) -> dict[str, Any]:
    """``RunReport`` of runner/types.ts; what the code prints is emitted as it comes."""
    report: dict[str, Any] = {"value": None, "stopped": None, "cannot": None, "error": None}
    output = Output(lambda text: emit("output", text))
    start = time.perf_counter()
    try:
        with told_in(report, output):
            text = clean(args["code"])
            tree = parse(text)
            with printing_to(output):
                value = _execute(text, tree)
                report["value"] = None if value is None else shown(value)
    except CannotJudge as refused:
        column = refused.column
        report["cannot"] = {
            "kind": refused.kind, "line": refused.line, "column": column, "message": refused.text,
        }  # fmt: skip
    except BaseException as error:
        report["error"] = errors.told(error)
    return {**report, "stdout": output.text, "seconds": time.perf_counter() - start}


def _execute(text: str, tree: ast.Module) -> Any:
    """Run the module, and give the value of the expression that it ends in, if it does."""
    errors.remember_source(text)
    module = ModuleType("__main__")
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        exec(compile(tree, errors.FILE, "exec", dont_inherit=True), module.__dict__)
        return None
    before = ast.Module(tree.body[:-1], type_ignores=[])
    exec(compile(before, errors.FILE, "exec", dont_inherit=True), module.__dict__)
    expression = ast.Expression(last.value)
    return eval(compile(expression, errors.FILE, "eval", dont_inherit=True), module.__dict__)
