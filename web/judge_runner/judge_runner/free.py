"""Free code, as in the playground."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from types import CodeType, ModuleType
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
            codes = _compiled(text)
            emit("begun", None)
            with printing_to(output):
                value = _execute(text, *codes)
                report["value"] = None if value is None else shown(value)
    except CannotJudge as refused:
        column = refused.column
        report["cannot"] = {
            "kind": refused.kind, "line": refused.line, "column": column, "message": refused.text,
        }  # fmt: skip
    except BaseException as error:
        report["error"] = errors.told(error)
    return {**report, "stdout": output.text, "seconds": time.perf_counter() - start}


def _compiled(text: str) -> tuple[CodeType, CodeType | None]:
    """The module's code, and apart the expression that it ends in, if it does.

    The tree ends with this call, as in ``submission``.
    """
    tree = parse(text)
    last = tree.body[-1]
    if not isinstance(last, ast.Expr):
        return compile(tree, errors.FILE, "exec", dont_inherit=True), None
    before = ast.Module(tree.body[:-1], type_ignores=[])
    value = compile(ast.Expression(last.value), errors.FILE, "eval", dont_inherit=True)
    return compile(before, errors.FILE, "exec", dont_inherit=True), value


def _execute(text: str, code: CodeType, value: CodeType | None) -> Any:
    """Run the module, and give the value of the expression at its end."""
    errors.remember_source(text)
    module = ModuleType("__main__")
    exec(code, module.__dict__)
    return None if value is None else eval(value, module.__dict__)
