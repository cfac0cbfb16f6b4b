"""`make nbgrader`: a course folder for nbgrader in each language, below `build/nbgrader/`.

python -m tools.nbgrader.build [--out FOLDER] [--lang zh|en]

A chapter with exercises is an assignment; its notebook is the chapter's solved one with the cells of each
exercise marked for nbgrader and a locked cell with the points below them. `nbgrader generate_assignment`,
`autograde`, `generate_feedback` and `export` then work in the folder as they are. What a class has put into
the folder (submissions, gradebook, settings that were edited) stays when it is built again.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from judge.cli.workspace import write_atomically
from judge.exercises import Exercise, load_exercises
from judge.i18n import LANGS, t
from tools.book.build import read_site
from tools.book.page import ROOT
from tools.notebooks.build import make, sources

CONFIG = '''"""The course's settings, read by nbgrader in this folder. Written once: change what you like."""

from pathlib import Path

from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    ClearMarkScheme,
    ClearOutput,
    ComputeChecksums,
    DeduplicateIds,
    IncludeHeaderFooter,
    LimitOutput,
    LockCells,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
    SaveCells,
)

from judge.notebook.nbgrader import JudgeAnswers, KnownCells, StarterCells

c = get_config()  # noqa: F821 - nbgrader defines it
c.CourseDirectory.course_id = "minisgl-{lang}"
c.CourseDirectory.root = str(Path(__file__).resolve().parent)

# Answer cells get the exercise's starter in place of the solution.
c.StarterCells.lang = "{lang}"
c.GenerateAssignment.preprocessors = [
    IncludeHeaderFooter, LockCells, StarterCells, ClearOutput, CheckCellMetadata, ComputeChecksums,
    SaveCells, ClearHiddenTests, ClearMarkScheme, ComputeChecksums, CheckCellMetadata,
]

# Points come from the judge. A submitted notebook is never executed: it could grade itself.
c.JudgeAnswers.lang = "{lang}"
c.Autograde.sanitize_preprocessors = [
    ClearOutput, KnownCells, DeduplicateIds, OverwriteKernelspec, OverwriteCells, CheckCellMetadata,
]
c.Autograde.autograde_preprocessors = [
    JudgeAnswers, LimitOutput, SaveAutoGrades, AssignLatePenalties, CheckCellMetadata,
]
'''


def folder(out: Path, lang: str) -> Path:
    """Write or refresh the course folder of one language; returns it."""
    course = out / lang
    exercises = load_exercises()
    site = replace(read_site(), repository="")
    for language, relative in sources():
        if language != lang:
            continue
        notebook = json.loads(make(relative, lang, site, solved=True))
        if graded(notebook, exercises, lang):
            target = course / "source" / f"ch{relative.stem[:2]}" / f"{relative.stem}.ipynb"
            write_atomically(target, json.dumps(notebook, ensure_ascii=False, indent=1) + "\n")
    config = course / "nbgrader_config.py"
    if not config.exists():
        write_atomically(config, CONFIG.replace("{lang}", lang))
    for name in ("release", "submitted", "autograded", "feedback"):
        (course / name).mkdir(exist_ok=True)
    return course


def graded(notebook: dict[str, Any], exercises: dict[int, Exercise], lang: str) -> int:
    """Mark the answer cells of a chapter's notebook, put the graded cell under each exercise; how many."""
    cells: list[dict[str, Any]] = []
    pending: Exercise | None = None
    count = 0
    for cell in notebook["cells"]:
        cells.append(cell)
        kind, _, number = _tag(cell).partition("-")
        if kind == "exercise":
            pending = exercises[int(number)]
            cell["metadata"]["nbgrader"] = _mark(f"answer-{pending.id}", solution=True)
        elif kind == "samples" and pending is not None:
            cells.append(_points_cell(pending, lang))
            pending, count = None, count + 1
    notebook["cells"] = cells
    return count


def _tag(cell: dict[str, Any]) -> str:
    tags = [tag for tag in cell["metadata"].get("tags", []) if tag.startswith(("exercise-", "samples-"))]
    return tags[0] if tags else ""


def _points_cell(exercise: Exercise, lang: str) -> dict[str, Any]:
    source = f"from judge.notebook import points\n\npoints({exercise.id}, lang={lang!r})"
    mark = _mark(f"judge-{exercise.id}", solution=False) | {"points": exercise.points}
    return {
        "cell_type": "code",
        "id": f"judge-{exercise.id}",
        "metadata": {"nbgrader": mark},
        "execution_count": None,
        "outputs": [],
        "source": source,
    }


def _mark(grade_id: str, *, solution: bool) -> dict[str, Any]:
    return {
        "schema_version": 3,
        "grade_id": grade_id,
        "grade": not solution,
        "solution": solution,
        "locked": not solution,
        "task": False,
    }


def main() -> int:
    """Build the folders and say what to do in them."""
    parser = argparse.ArgumentParser(prog="python -m tools.nbgrader.build")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "nbgrader")
    parser.add_argument("--lang", choices=LANGS, help="only this language")
    arguments = parser.parse_args()
    for lang in (arguments.lang,) if arguments.lang else LANGS:
        course = folder(arguments.out, lang)
        assignments = sorted(path.name for path in (course / "source").iterdir())
        print(t("notebook.course_folder", lang, folder=course, assignments=", ".join(assignments)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
