"""What `make nbgrader` writes, and how a result becomes points."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.converters.base import NbGraderException

from judge.exercises import find
from judge.i18n import both
from judge.notebook import nbgrader as ours
from judge.notebook import points
from judge.notebook.points import remember
from judge.types import RunResult, Verdict
from tools.nbgrader.build import folder, graded


def result(verdict: Verdict, score: float) -> RunResult:
    return RunResult(192, "cache_req", verdict, score, both("verdict.se"))


class Pool:
    isolation = "namespaces"


@pytest.fixture
def judged(monkeypatch):
    """The judge answers what the submission says; `seen` are the submissions."""
    seen = []

    def run(exercise, source, **options):
        seen.append((exercise.id, source.decode()))
        return result(Verdict.SE, 0.0) if b"fault" in source else result(Verdict.WA, 0.333)

    monkeypatch.setattr("judge.run.judge_submission", run)
    monkeypatch.setattr(ours, "shared_pool", Pool)
    return seen


def cell(grade_id, source, *, grade):
    mark = {"grade_id": grade_id, "grade": grade, "solution": not grade, "locked": grade, "points": 10}
    return new_code_cell(source, metadata={"nbgrader": mark})


def test_points_are_part_of_the_cell_s(judged):
    book = new_notebook(
        cells=[
            cell("answer-192", "%%judge 192 --lang zh\nx = 1", grade=False),
            cell("judge-192", "20", grade=True),
        ]
    )
    ours.JudgeAnswers(lang="en").preprocess(book, {})
    assert judged == [(192, "x = 1")]
    shown, number = book.cells[1].outputs
    assert number.data["text/plain"] == "3.33" and "WA" in shown.data["text/plain"]


def test_a_fault_of_the_judge_is_no_grade(judged):
    book = new_notebook(cells=[cell("answer-192", "fault", grade=False), cell("judge-192", "", grade=True)])
    with pytest.raises(NbGraderException, match="judge's fault"):
        ours.JudgeAnswers(lang="en").preprocess(book, {})


def test_weak_isolation_is_refused_unless_accepted(judged, monkeypatch):
    monkeypatch.setattr(Pool, "isolation", "weak (no namespaces)")
    book = new_notebook(cells=[cell("answer-192", "x", grade=False), cell("judge-192", "", grade=True)])
    with pytest.raises(NbGraderException, match="accept_weak_isolation"):
        ours.JudgeAnswers(lang="en").preprocess(book, {})
    ours.JudgeAnswers(lang="en", accept_weak_isolation=True).preprocess(book, {})


def test_a_graded_cell_of_others_earns_nothing(judged):
    book = new_notebook(cells=[cell("my-test", "assert True", grade=True), cell("judge-999", "", grade=True)])
    ours.JudgeAnswers(lang="zh").preprocess(book, {})
    assert [c.outputs[0].output_type for c in book.cells] == ["error", "error"] and not judged


def test_a_missing_answer_is_named(judged):
    book = new_notebook(cells=[cell("judge-192", "", grade=True)])
    ours.JudgeAnswers(lang="en").preprocess(book, {})
    assert "no answer cell" in book.cells[0].outputs[0].text
    assert book.cells[0].outputs[1].data["text/plain"] == "0.0"


def test_points_in_the_learners_kernel(capsys):
    assert points(176, lang="en") == 0.0 and "run the %%judge 176 cell" in capsys.readouterr().out
    remember(result(Verdict.AC, 1.0))
    assert points(192) == float(find("192").points) and points("cache_req", most=4) == 4.0


def test_a_folder_built_again_keeps_what_a_class_put_there(tmp_path: Path):
    course = folder(tmp_path, "en")
    config = course / "nbgrader_config.py"
    config.write_text("mine")
    (course / "submitted" / "ada").mkdir()
    assert folder(tmp_path, "en") == course
    assert config.read_text() == "mine" and (course / "submitted" / "ada").is_dir()


def test_each_exercise_of_a_chapter_is_marked_once(tmp_path: Path):
    for path in (folder(tmp_path, "zh") / "source").glob("*/*.ipynb"):
        notebook = json.loads(path.read_text())
        ids = [
            c["metadata"]["nbgrader"]["grade_id"] for c in notebook["cells"] if "nbgrader" in c["metadata"]
        ]
        answers = [one for one in ids if one.startswith("answer-")]
        assert answers and sorted(ids) == sorted(
            answers + [one.replace("answer", "judge") for one in answers]
        )


def test_a_chapter_without_exercises_is_no_assignment():
    assert graded({"cells": [{"metadata": {"tags": ["free"]}}]}, {}, "zh") == 0
