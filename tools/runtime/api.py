"""`api.json`: what the editor completes, of the engine and of the tab's torch."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.runtime.sources import ROOT, Files

Entry = dict[str, str]
"""`name` (`torch.arange`, `Tensor.clone`, `CacheManager.lock`), `kind`; `signature` and `doc` if any."""

_PROBE = Path(__file__).with_name("api_of_torch.py")
_LONGEST = 160
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def api(files: Files) -> bytes:
    """All entries, by name; of two of one name the first stays."""
    entries: dict[str, Entry] = {}
    for entry in (*_of_torch(), *_of_engine(files)):
        entries.setdefault(entry["name"], entry)
    return json.dumps([entries[name] for name in sorted(entries)], ensure_ascii=False).encode()


def _of_engine(files: Files) -> Iterator[Entry]:
    for path, source in sorted(files.items()):
        if not path.startswith("minisgl/") or not path.endswith(".py"):
            continue
        for node in ast.parse(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield _entry(node.name, "class", _of_init(node), node)
                yield from _of_class(node)
            elif isinstance(node, _Function) and not node.name.startswith("_"):
                yield _entry(node.name, "function", _signature(node), node)


def _of_class(node: ast.ClassDef) -> Iterator[Entry]:
    for member in node.body:
        if isinstance(member, ast.AnnAssign) and isinstance(member.target, ast.Name):
            if not member.target.id.startswith("_"):
                name = f"{node.name}.{member.target.id}"
                yield {"name": name, "kind": "property", "signature": ast.unparse(member.annotation)}
        elif isinstance(member, _Function) and not member.name.startswith("__"):
            marks = {ast.unparse(decorator).rpartition(".")[2] for decorator in member.decorator_list}
            name = f"{node.name}.{member.name}"
            if marks & {"property", "cached_property"}:
                of = ast.unparse(member.returns) if member.returns else ""
                yield _entry(name, "property", of, member)
            else:
                yield _entry(name, "method", _signature(member, bound="staticmethod" not in marks), member)


def _of_init(node: ast.ClassDef) -> str:
    init = next((m for m in node.body if isinstance(m, _Function) and m.name == "__init__"), None)
    if init is not None:
        return _signature(init)
    fields = [m for m in node.body if isinstance(m, ast.AnnAssign) and isinstance(m.target, ast.Name)]
    return f"({', '.join(ast.unparse(field) for field in fields)})"


def _signature(node: _Function, *, bound: bool = True) -> str:
    given = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(given, _Function)
    first = [*given.args.posonlyargs, *given.args.args][:1]
    if bound and first and first[0].arg in ("self", "cls"):
        (given.args.posonlyargs or given.args.args).pop(0)
    returns = f" -> {ast.unparse(given.returns)}" if given.returns else ""
    return f"({ast.unparse(given.args)}){returns}"


def _entry(name: str, kind: str, signature: str, node: _Function | ast.ClassDef) -> Entry:
    doc = (ast.get_docstring(node) or "").partition("\n")[0]
    entry = {"name": name, "kind": kind, "signature": signature[:_LONGEST], "doc": doc}
    return {key: value for key, value in entry.items() if value}


def _of_torch() -> list[Entry]:
    """Asked of the stand-in itself, which makes most of its names as it is imported."""
    path = str(ROOT / "web" / "torch_shim")
    done = subprocess.run(
        [sys.executable, str(_PROBE)],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path},
    )
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return [{key: str(value)[:_LONGEST] for key, value in entry.items() if value} for entry in found]
