"""Marks in the editor while one types: what does not parse, and what pyflakes finds."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from judge.i18n import both
from judge.parsing import CannotJudge, clean, parse

_LEAST = {"UndefinedName", "UndefinedLocal", "UndefinedExport", "DuplicateArgument", "ReturnOutsideFunction"}
"""What makes a program fail when the line runs; the rest are warnings."""


def run(args: dict[str, Any], emit: Callable[[str, Any], None]) -> dict[str, Any]:
    """``{"items": LintItem[]}`` of runner/types.ts."""
    try:
        text = clean(args["code"])
        tree = parse(text)
    except CannotJudge as refused:
        line, column = refused.line or 1, refused.column or 1
        if refused.kind == "empty":
            return {"items": []}
        return {"items": [_item(line, column, line, column + 1, "error", refused.text)]}
    return {"items": _flakes(tree, text.splitlines())}


def _flakes(tree: ast.Module, lines: list[str]) -> list[dict[str, Any]]:
    from pyflakes.checker import Checker

    found = sorted(Checker(tree, withDoctest=False).messages, key=lambda m: (m.lineno, m.col))
    items = []
    for one in found:
        column = one.col + 1
        end = column + _length(lines[one.lineno - 1] if one.lineno <= len(lines) else "", one.col)
        kind = type(one).__name__
        items.append(
            _item(one.lineno, column, one.lineno, end, "error" if kind in _LEAST else "warning", _words(one))
        )
    return items


def _words(one: Any) -> dict[str, str]:
    said = one.message % one.message_args
    known = {
        "UndefinedName": "lint_undefined",
        "UnusedImport": "lint_unused_import",
        "UnusedVariable": "lint_unused_variable",
        "UndefinedLocal": "lint_undefined_local",
        "RedefinedWhileUnused": "lint_redefined",
    }.get(type(one).__name__)
    if known is None:
        return both("runner.lint_other", said=said)
    return both(f"runner.{known}", name=one.message_args[0])


def _length(line: str, start: int) -> int:
    """Of the name that begins there."""
    length = 0
    for character in line[start:]:
        if not (character.isalnum() or character == "_"):
            break
        length += 1
    return max(1, length)


def _item(
    line: int, column: int, end_line: int, end_column: int, severity: str, message: dict[str, str]
) -> dict[str, Any]:
    return {
        "line": line, "column": column, "endLine": end_line, "endColumn": end_column,
        "severity": severity, "message": message,
    }  # fmt: skip
