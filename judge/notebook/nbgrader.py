"""What nbgrader calls: answers are judged by the judge, and nothing of a submitted notebook is executed.

nbgrader keeps the notebooks, the gradebook and the export. Its own way to a grade, executing the notebook and
looking at what the test cells print, lets a submission grade itself: any cell above a test cell can replace
what that cell calls. So `JudgeAnswers` takes the place of nbgrader's `Execute`: it reads the source of the
answer cell, which is data, judges it in the sandbox, and writes the points as the output of the graded cell.
`nbgrader_config.py` of the course folder, made by `make nbgrader`, names both classes.
"""

from __future__ import annotations

import re
from typing import Any

import nbformat
from nbgrader.api import Gradebook
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade, is_solution
from traitlets import Bool, Enum

from judge.exercises import Exercise, load_exercises
from judge.i18n import LANGS, t
from judge.notebook.magic import shared_pool
from judge.notebook.points import points_of
from judge.notebook.view import Outcome
from judge.starter import starter
from judge.types import RunResult, Verdict

_ID = re.compile(r"(?P<kind>answer|judge)-(?P<number>\d+)")
_MAGIC = re.compile(r"\s*%%judge\b[^\n]*\n?")


def exercise_of(cell: Any, kind: str) -> Exercise | None:
    """The exercise whose `kind` of cell this is, or None."""
    found = _ID.fullmatch(str(cell.metadata.get("nbgrader", {}).get("grade_id", "")))
    if found is None or found["kind"] != kind:
        return None
    return load_exercises().get(int(found["number"]))


def submission_of(source: str) -> str:
    """The module in an answer cell: all of it but the line of the magic."""
    return _MAGIC.sub("", source, count=1) if _MAGIC.match(source) else source


class StarterCells(NbGraderPreprocessor):
    """`generate_assignment`: an answer cell holds the exercise's starter, not the solution."""

    lang = Enum(LANGS, default_value="zh", help="Language of the starters.").tag(config=True)

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        exercise = exercise_of(cell, "answer")
        if exercise is not None and is_solution(cell):
            cell.source = f"%%judge {exercise.id} --lang {self.lang}\n{starter(exercise, self.lang)}".rstrip()
        return cell, resources


class KnownCells(NbGraderPreprocessor):
    """`autograde`, first: marks that the assignment lacks go, graded cells that were deleted come back.

    nbgrader's own `add_missing_cells` stops with a KeyError at such notebooks.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Bring the notebook's marks in step with the gradebook's."""
        where = resources["nbgrader"]
        with Gradebook(where["db_url"]) as gradebook:
            source = gradebook.find_notebook(where["notebook"], where["assignment"])
            known = {cell.name for cell in source.source_cells}
            graded = {cell.name: float(cell.max_score) for cell in source.grade_cells}
            texts = {cell.name: cell.source for cell in source.source_cells if cell.cell_type == "code"}
        seen = set()
        for cell in nb.cells:
            name = cell.metadata.get("nbgrader", {}).get("grade_id")
            if name in known:
                seen.add(name)
            else:
                cell.metadata.pop("nbgrader", None)
        for name in graded.keys() & texts.keys() - seen:
            mark = {"schema_version": 3, "grade_id": name, "grade": True, "solution": False, "locked": True}
            mark |= {"task": False, "points": graded[name], "cell_type": "code"}
            nb.cells.append(nbformat.v4.new_code_cell(texts[name], metadata={"nbgrader": mark}))
        return nb, resources


class JudgeAnswers(NbGraderPreprocessor):
    """`autograde`: each graded cell gets the points that the judge gives to the answer cell's source.

    Raises:
        NbGraderException: the judge is at fault or nothing isolates submissions here; nothing is graded then.
    """

    lang = Enum(LANGS, default_value="zh", help="Language of the feedback.").tag(config=True)
    engine = Bool(True, help="Whether the engine part is judged, a fifth of the points.").tag(config=True)
    accept_weak_isolation = Bool(
        False, help="Judge although nothing but time limits holds submissions back on this machine."
    ).tag(config=True)

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Judge the notebook's answers; no cell is executed."""
        answers = {
            exercise.id: cell.source
            for cell in nb.cells
            if is_solution(cell) and (exercise := exercise_of(cell, "answer")) is not None
        }
        for cell in nb.cells:
            if cell.cell_type != "code":
                continue
            cell.outputs, cell.execution_count = [], None
            if is_grade(cell) and not is_solution(cell):
                exercise = exercise_of(cell, "judge")
                cell.outputs = (
                    self._foreign()
                    if exercise is None
                    else self._judged(exercise, answers.get(exercise.id), cell)
                )
        return nb, resources

    def _judged(self, exercise: Exercise, source: str | None, cell: Any) -> list[Any]:
        most = float(cell.metadata.nbgrader["points"])
        if source is None:
            return [_stream(t("notebook.no_answer", self.lang, exercise=exercise.id)), _number(0.0)]
        result = self._run(exercise, submission_of(source))
        outcome = Outcome(exercise, result, self.lang)
        shown = nbformat.v4.new_output(
            "display_data", {"text/html": outcome._repr_html_(), "text/plain": repr(outcome)}
        )
        return [shown, _number(points_of(result, most))]

    def _run(self, exercise: Exercise, source: str) -> RunResult:
        from judge.run import judge_submission

        pool = shared_pool()
        if pool.isolation.startswith("weak") and not self.accept_weak_isolation:
            raise NbGraderException(t("notebook.weak", self.lang, isolation=pool.isolation))
        result = judge_submission(
            exercise,
            source.encode("utf-8", "surrogatepass"),
            pool=pool,
            engine=self.engine,
            filename=f"{exercise.key}.py",
        )
        if result.verdict is Verdict.SE:
            raise NbGraderException(t("notebook.fault", self.lang, exercise=exercise.id))
        return result

    def _foreign(self) -> list[Any]:
        """Without an output nbgrader would give full points."""
        text = t("notebook.not_judged", self.lang)
        return [nbformat.v4.new_output("error", ename="NotJudged", evalue=text, traceback=[text])]


def _number(points: float) -> Any:
    """What nbgrader reads as partial credit."""
    return nbformat.v4.new_output("execute_result", {"text/plain": repr(points)}, execution_count=None)


def _stream(text: str) -> Any:
    return nbformat.v4.new_output("stream", name="stdout", text=text + "\n")
