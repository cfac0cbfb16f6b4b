"""The source of one symbol of a Python file, as it stands, with its lines."""

from __future__ import annotations

import ast
import textwrap
from dataclasses import dataclass
from pathlib import Path

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Symbol:
    """`code` is dedented and ends in a newline; `first` and `last` are line numbers in the file."""

    name: str
    code: str
    first: int
    last: int


def find_symbol(path: Path, name: str, *, docstring: bool = True) -> Symbol:
    """The function, method, class or assignment called `name` ("Class.method"), decorators included.

    Without `docstring`, its docstring is left out of `code`; the lines stay those of the whole.

    Raises:
        LookupError: the file has no such symbol; the text lists what the last found scope does have.
    """
    text = path.read_text(encoding="utf-8")
    node: ast.AST = ast.parse(text)
    for part in name.split("."):
        found = [child for child in getattr(node, "body", []) if part in _names(child)]
        if not found:
            known = sorted({each for child in getattr(node, "body", []) for each in _names(child)})
            raise LookupError(f"{path.name} has no {name}; there are: {', '.join(known) or 'no names'}")
        node = found[-1]
    assert isinstance(node, ast.stmt) and node.end_lineno is not None
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])
    lines = text.splitlines()
    kept = range(first, node.end_lineno + 1)
    if not docstring and isinstance(node, _Definition) and ast.get_docstring(node) is not None:
        said = node.body[0]
        assert said.end_lineno is not None
        dropped = range(said.lineno, said.end_lineno + 1)
        kept_lines = [lines[number - 1] for number in kept if number not in dropped]
    else:
        kept_lines = [lines[number - 1] for number in kept]
    return Symbol(name, textwrap.dedent("\n".join(kept_lines)) + "\n", first, node.end_lineno)


def _names(node: ast.AST) -> set[str]:
    if isinstance(node, _Definition):
        return {node.name}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    return set()
