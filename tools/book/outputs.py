"""What the examples and the code cells of the chapters print: stored, shown on the page, compared by a test.

python -m tools.book.outputs           # run everything and store what it prints
python -m tools.book.outputs --check   # run everything; status 1 if something stored is out of date
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tools.book.directives import cell_tags
from tools.book.manifest import load_steps
from tools.book.site import ROOT
from tools.book.source import Directive, Source, expand, parse


def current_outputs(root: Path = ROOT) -> dict[str, str]:
    """File name in `chapters/outputs/` to text, from running the code as it stands.

    Raises:
        subprocess.CalledProcessError: an example failed; an exception of a code cell passes through.
    """
    printed: dict[str, str] = {}
    for path in sorted((root / "chapters" / "zh").glob("[0-9][0-9]_*.md")):
        source = parse(path.read_text(encoding="utf-8"), path)
        chapter = int(source.head["chapter"])
        step = load_steps(root).get(chapter)
        if step and step.main:
            printed[f"ch{chapter:02d}.txt"] = run_example(root / step.main)
        printed |= {f"ch{chapter:02d}.{name}.txt": text for name, text in run_cells(source).items()}
    for step in load_steps(root).values():
        name = Path(step.milestone).stem
        if step.milestone and (root / "chapters" / "zh" / f"{name}.md").is_file():
            printed[f"{name}.txt"] = run_example(root / step.milestone)
    return printed


def run_example(path: Path) -> str:
    """What the program prints, in a process of its own with one thread."""
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, str(path)], env=environment, capture_output=True, text=True, check=True, timeout=300
    )
    return done.stdout


def code_cells(source: Source) -> list[Directive]:
    """The code cells of a source, in order."""
    cells: list[Directive] = []

    def note(directive: Directive) -> str:
        if directive.name == "code-cell":
            cells.append(directive)
        return ""

    expand(source.text, source.path, source.first_line, note)
    return cells


def run_cells(source: Source) -> dict[str, str]:
    """What each named cell of the page prints, run from the first to the last in one namespace."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    printed: dict[str, str] = {}
    for cell in code_cells(source):
        if "remove-cell" in cell_tags(cell):
            continue
        said = io.StringIO()
        code = compile("\n" * (cell.body_line - 1) + cell.body, str(source.path), "exec")
        with contextlib.redirect_stdout(said):
            exec(code, namespace)
        if "name" in cell.options:
            printed[cell.options["name"]] = said.getvalue()
    return printed


def main() -> int:
    """Store, or with `--check` compare, all outputs."""
    parser = argparse.ArgumentParser(prog="python -m tools.book.outputs")
    parser.add_argument("--check", action="store_true", help="change nothing; status 1 if one is out of date")
    arguments = parser.parse_args()
    folder = ROOT / "chapters" / "outputs"
    stale = 0
    for name, text in current_outputs().items():
        path = folder / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if arguments.check:
            print(
                f"{path.relative_to(ROOT)} is out of date; run: python -m tools.book.outputs", file=sys.stderr
            )
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
