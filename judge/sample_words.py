"""The words around a public sample, the same in every place. The browser runs this file, too."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING

from judge.i18n import both

if TYPE_CHECKING:
    from judge.types import Text


def message(raised_line: int | None, said: str) -> Text:
    """What a failed sample says: in two lines for two languages, or an exception and its line."""
    if raised_line is not None:
        return both("verdict.sample_raised", line=raised_line, message=said)
    return _two_lines(said) if said else {}


@lru_cache(maxsize=64)
def titles(source: str) -> dict[str, Text]:
    """A sample's docstring is its title: a line of Chinese, a line of English. Without one, its name is."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    tests = [function for function in functions if function.name.startswith("test_")]
    return {test.name: _two_lines(ast.get_docstring(test) or test.name) for test in tests}


def _two_lines(text: str) -> Text:
    zh, _, en = text.partition("\n")
    return {"zh": zh.strip(), "en": en.strip() or zh.strip()}
