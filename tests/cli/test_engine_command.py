"""`judge.py engine`: everything that was accepted, at work in one engine."""

from __future__ import annotations

import json

import pytest

from judge.cli import main
from judge.cli.engine import chosen
from judge.exercises import find, load_exercises
from judge.solution import solution_text


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    monkeypatch.setenv("MINISGL_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    return tmp_path


def accept(workspace, *numbers, **texts):
    """These exercises are accepted; their files hold the solutions, or the text given for `f"e{number}"`."""
    for number in numbers:
        exercise = find(str(number))
        text = texts.get(f"e{number}") or solution_text(exercise)
        (workspace / f"{exercise.key}.py").write_text(text)
    (workspace / ".accepted.json").write_text(json.dumps(numbers))


def test_what_can_be_in_the_engine_together(workspace):
    accept(workspace, *load_exercises())
    numbers = {exercise.id for exercise in chosen()}
    assert {164, 172, 176, 193, 195, 196} <= numbers
    assert 192 not in numbers  # 195 is about the same function
    assert not numbers & {160, 177, 178, 188}  # the one-file engine's, no place, plans whole steps
    (workspace / "172_merge_projections.py").unlink()
    assert 172 not in {exercise.id for exercise in chosen()}


def test_without_an_accepted_function_it_says_what_to_do(workspace, capsys):
    assert main(["engine"]) == 1
    assert "python practice/judge.py list" in capsys.readouterr().out
    assert main(["engine", str(workspace / "none.py")]) == 2
    assert "does not exist" in capsys.readouterr().err


def test_the_bundled_model_answers_with_the_functions(workspace, capfd):
    accept(workspace, 172, 176, 192, 196)
    assert main(["engine"]) == 0
    said = capfd.readouterr().out
    assert "tokens as without your functions; 64 of 64 pages" in said
    assert "with 4 of your functions" in said
    assert "172  merge_projections      calls: 1\n" in said
    assert "calls: 0" not in said


def test_a_program_runs_with_the_functions(workspace, capfd):
    program = workspace / "mine.py"
    program.write_text("from minisgl.core import flat_positions\nprint('rows', flat_positions([]))\n")
    accept(workspace, 165, e165="def flat_positions(reqs):\n    return 'my own'\n")
    assert main(["engine", str(program)]) == 0
    said = capfd.readouterr().out
    assert "rows my own\n" in said
    assert "165  flat_positions         calls: 1\n" in said


def test_what_a_function_raises_is_told_with_its_line(workspace, capfd):
    accept(workspace, 192, e192="def cache_req(self, req, *, finished):\n    return req.nothing\n")
    assert main(["engine"]) == 1
    said = capfd.readouterr().err
    assert "192_cache_req.py:2: AttributeError" in said
    assert "Traceback" not in said
