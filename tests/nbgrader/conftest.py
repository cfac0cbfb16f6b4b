"""Course folders as an instructor has them."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools.nbgrader.build import folder

ROOT = Path(__file__).resolve().parents[2]
Notebook = dict[str, Any]


class Course:
    """One course folder and nbgrader's command line in it."""

    def __init__(self, root: Path, lang: str) -> None:
        self.lang, self.root = lang, folder(root, lang)
        self.solved = self.read("source")

    def read(self, place: str) -> Notebook:
        text = (self.root / place / "ch08" / "08_cache_manager.ipynb").read_text(encoding="utf-8")
        found: Notebook = json.loads(text)
        return found

    @property
    def environment(self) -> dict[str, str]:
        """Commands find this environment's programs and this tree's judge."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return os.environ | {"PATH": path, "PYTHONPATH": str(ROOT)}

    def nbgrader(self, *words: str, ok: bool = True) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *words],
            cwd=self.root,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=280,
        )
        text = done.stdout + done.stderr
        assert (done.returncode == 0) is ok, text
        return text

    def hand_in(self, student: str, change: Callable[[Notebook], None]) -> None:
        """The released notebook with `change` done to it."""
        notebook = copy.deepcopy(self.read("release"))
        change(notebook)
        path = self.root / "submitted" / student / "ch08" / "08_cache_manager.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(notebook), encoding="utf-8")

    def solution(self, number: int) -> str:
        """The answer cell of the solved notebook."""
        return "".join(cell_of(self.solved, f"answer-{number}")["source"])

    def feedback(self, student: str) -> str:
        return (self.root / "feedback" / student / "ch08" / "08_cache_manager.html").read_text(
            encoding="utf-8"
        )


def cell_of(notebook: Notebook, grade_id: str) -> dict[str, Any]:
    """The cell with that `grade_id`."""
    return next(c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


@pytest.fixture(params=["zh", "en"])
def course(request: pytest.FixtureRequest, tmp_path: Path) -> Course:
    made = Course(tmp_path, request.param)
    made.nbgrader("generate_assignment", "ch08")
    return made
