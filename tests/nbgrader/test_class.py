"""A class from release to feedback: points for right answers, parts of them for parts, none for cheats."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from conftest import Course, Notebook, cell_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

ALWAYS = """
class Same(int):
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
"""


def answer(notebook: Notebook, number: int, source: str) -> None:
    cell_of(notebook, f"answer-{number}")["source"] = source


def code(source: str) -> dict[str, object]:
    return {
        "id": "extra",
        "cell_type": "code",
        "metadata": {},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def points(course: Course) -> dict[str, float]:
    file = course.root / "grades.csv"
    course.nbgrader("export", "--to", str(file))
    with file.open(newline="") as lines:
        return {row["student_id"]: float(row["score"]) for row in csv.DictReader(lines)}


def test_a_class(course: Course, tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    def strong(notebook: Notebook) -> None:
        for number in (192, 193):
            answer(notebook, number, course.solution(number))

    def partial(notebook: Notebook) -> None:
        answer(notebook, 192, course.solution(192).replace("%%judge 192", "%%judge 192 --no-engine"))
        answer(notebook, 193, course.solution(193).replace("self.reserved_size", "0"))

    def forged(notebook: Notebook) -> None:
        """Points in the locked cells, outputs brought along, the function that they call replaced."""
        notebook["cells"].insert(0, code("import judge.notebook as j\nj.points = lambda *a, **k: 10.0"))
        for number in (192, 193):
            cell = cell_of(notebook, f"judge-{number}")
            cell["source"] = "10.0"
            cell["metadata"]["nbgrader"]["points"] = 99
            output = {"output_type": "execute_result", "data": {"text/plain": "99"}, "metadata": {}}
            cell["outputs"] = [output | {"execution_count": 1}]

    def exits(notebook: Notebook) -> None:
        answer(notebook, 192, "%%judge 192\nimport os\nos._exit(0)")
        answer(notebook, 193, ALWAYS + "def _try_allocate_one(self, req):\n    return Same()\n")

    def runs_code(notebook: Notebook) -> None:
        notebook["cells"].append(code(f"open({str(canary)!r}, 'w').write('ran')"))
        answer(notebook, 192, f"open({str(canary)!r}, 'w').write('ran')\nprint(In[2])")

    def removed(notebook: Notebook) -> None:
        """Neither answers nor graded cells."""
        notebook["cells"] = [cell for cell in notebook["cells"] if "nbgrader" not in cell["metadata"]]

    def twice(notebook: Notebook) -> None:
        """A second graded cell under another name, which nbgrader does not know."""
        extra = code("10.0")
        extra["metadata"] = {"nbgrader": {**cell_of(notebook, "judge-192")["metadata"]["nbgrader"]}}
        extra["metadata"]["nbgrader"]["grade_id"] = "judge-176"
        notebook["cells"].append(extra)

    def deleted(notebook: Notebook) -> None:
        """A right answer whose graded cells were deleted, under a mark that is damaged."""
        strong(notebook)
        cells = notebook["cells"]
        notebook["cells"] = [c for c in cells if not str(c["metadata"].get("nbgrader")).count("'judge-")]
        notebook["cells"][0]["metadata"]["nbgrader"] = {"solution": True}

    for change in (deleted, strong, partial, forged, exits, runs_code, removed, twice):
        course.hand_in(change.__name__, change)
    course.hand_in("nothing", lambda notebook: None)
    course.nbgrader("autograde", "ch08")
    course.nbgrader("generate_feedback", "ch08")

    got = points(course)
    assert got.pop("strong") == got.pop("deleted") == 20
    assert 10 < got.pop("partial") < 20
    assert got == dict.fromkeys(("forged", "exits", "runs_code", "removed", "twice", "nothing"), 0.0)
    assert not canary.exists()

    page = course.feedback("partial")
    assert ("通过" if course.lang == "zh" else "Accepted") in page
    assert "Traceback (most recent call last)" not in page and "judge/hidden" not in page

    course.nbgrader("autograde", "ch08", "--force")  # again: the same
    assert points(course)["strong"] == 20


def test_a_solution_is_not_released(course: Course) -> None:
    released = course.read("release")
    for number in (192, 193):
        cell = "".join(cell_of(released, f"answer-{number}")["source"])
        assert (
            cell.startswith(f"%%judge {number} --lang {course.lang}\n")
            and "raise NotImplementedError" in cell
        )
        assert cell != course.solution(number)
