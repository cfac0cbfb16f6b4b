"""`make notebooks`: the notebooks that are committed, and the solved ones below `build/`.

python -m tools.notebooks.build           # write them
python -m tools.notebooks.build --check   # status 1 if a committed one is not what its source says
"""

from __future__ import annotations

import argparse
import base64
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import jupytext
import nbformat

from judge.i18n import LANGS
from tools.book.figures import stand_alone
from tools.book.page import Page
from tools.book.parts import THEME
from tools.book.site import ROOT, STYLES, Site, read_site
from tools.book.source import SourceError, parse
from tools.notebooks.render import Sheet

_FRONT = "---\njupytext:\n  text_representation:\n    extension: .md\n    format_name: myst\n---\n\n"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def sources(root: Path = ROOT) -> list[tuple[str, Path]]:
    """Language and path of every chapter source, relative to the root."""
    return [
        (lang, path.relative_to(root))
        for lang in LANGS
        for path in sorted((root / "chapters" / lang).glob("[0-9][0-9]_*.md"))
    ]


def make(relative: Path, lang: str, site: Site, *, solved: bool, root: Path = ROOT) -> str:
    """One notebook as the text of its file; the same source always gives the same text.

    Raises:
        SourceError: a directive has to be mended.
    """
    source = parse((root / relative).read_text(encoding="utf-8"), relative)
    sheet = Sheet(Page(source, lang, site, root), solved)
    notebook: Any = jupytext.reads(_FRONT + sheet.text(), fmt="md:myst")
    notebook.metadata = nbformat.from_dict(METADATA)
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    palette = (STYLES / "palette.css").read_text(encoding="utf-8")
    rules = (THEME / "figure.css").read_text(encoding="utf-8")
    for number, cell in enumerate(notebook.cells, start=1):
        cell.id = f"ch{source.head['chapter']:02d}-{number:02d}"
        # JupyterLab shows no SVG that is attached to a cell, but one in the address
        for name in re.findall(r"\(figure:([^)]+)\)", cell.source):
            svg = stand_alone(sheet.figures[name], palette, rules)
            data = base64.b64encode(svg.encode()).decode()
            cell.source = cell.source.replace(f"(figure:{name})", f"(data:image/svg+xml;base64,{data})")
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4) + "\n"


def main() -> int:
    """Write, or with `--check` compare, all notebooks."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks.build")
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if one is out of date")
    arguments = parser.parse_args()
    site, stale = replace(read_site(), repository=""), 0
    try:
        for lang, relative in sources():
            target = ROOT / relative.with_suffix(".ipynb")
            text = make(relative, lang, site, solved=False)
            fresh = target.exists() and target.read_text(encoding="utf-8") == text
            if arguments.check:
                stale += not fresh
                if not fresh:
                    print(f"{target.relative_to(ROOT)} is out of date; run: make notebooks", file=sys.stderr)
                continue
            target.write_text(text, encoding="utf-8")
            solved = ROOT / "build" / "notebooks" / lang / target.name
            solved.parent.mkdir(parents=True, exist_ok=True)
            solved.write_text(make(relative, lang, site, solved=True), encoding="utf-8")
            print(f"{target.relative_to(ROOT)}, solved: {solved.relative_to(ROOT)}")
    except SourceError as error:
        print(error, file=sys.stderr)
        return 1
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
