"""Output that a page shows comes from the code beside it, as it is today."""

from __future__ import annotations

import ast
from pathlib import Path

from tools.book.outputs import code_cells, current_outputs
from tools.book.site import ROOT
from tools.book.source import parse


def test_stored_outputs_are_what_the_code_prints() -> None:
    folder = ROOT / "chapters" / "outputs"
    stored = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.txt")}
    assert stored == current_outputs()


def test_code_cells_are_the_same_program_in_both_languages() -> None:
    for path in sorted((ROOT / "chapters" / "zh").glob("[0-9][0-9]_*.md")):
        zh, en = (
            [(cell.options, ast.dump(ast.parse(cell.body))) for cell in code_cells(read(path.name, lang))]
            for lang in ("zh", "en")
        )
        assert zh == en
        assert zh


def read(name: str, lang: str):
    path = Path("chapters") / lang / name
    return parse((ROOT / path).read_text(encoding="utf-8"), path)
