"""`%%exercise`: the buttons below a cell, pressed as the page presses them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ipywidgets
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

from judge.exercises import find, load_exercises
from judge.notebook import animation, points
from judge.notebook.panel import Panel, animation_of
from judge.solution import solution_text
from tools.animations.build import NAMES, build


def panel(
    shell: InteractiveShell, line: str, cell: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[Panel, list[Any]]:
    """The panel of a cell, and the list to which its output goes."""
    made: list[Panel] = []
    monkeypatch.setattr("judge.notebook.magic.display", made.append)
    shell.run_cell_magic("exercise", line, cell)
    (one,) = made
    shown: list[Any] = []
    monkeypatch.setattr("judge.notebook.panel.display", shown.append)
    return one, shown


def test_samples_then_submission_then_the_own_run(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build(tmp_path / "animations")
    monkeypatch.setattr(animation, "FOLDERS", (tmp_path / "animations",))
    one, shown = panel(shell, "192", solution_text(find("192")), monkeypatch)
    assert [button.description for button in (one.samples, one.submit, one.hint, one.animate)] == [
        "Run samples", "Submit", "Hint", "Play my run"
    ]  # fmt: skip
    one.samples.click()
    assert "4/4" in repr(shown[-1])
    assert one.result is None and one.animate.disabled
    one.submit.click()
    assert "AC · Accepted" in repr(shown[-1])
    assert points(192, 10) == 10
    assert "cache_req" in shell.user_ns
    assert one.status.value == "" and not one.animate.disabled
    one.animate.click()
    assert shown[-1].trace == one.result.trace
    assert any(event["type"] == "cache_req" for event in shown[-1].trace)


@pytest.mark.parametrize(
    ("exercise", "kind", "lang"), [("178", "block_pool", "en"), ("177", "footprint", "zh")]
)
def test_a_cell_that_the_engine_does_not_call_is_played_in_the_notebook(
    shell: InteractiveShell,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    exercise: str,
    kind: str,
    lang: str,
) -> None:
    build(tmp_path / "animations")
    monkeypatch.setattr(animation, "FOLDERS", (tmp_path / "animations",))
    right = solution_text(find(exercise))
    one, shown = panel(shell, f"{exercise} --lang {lang}", right, monkeypatch)
    assert one.animate.disabled
    one.samples.click()
    assert not one.animate.disabled
    one.animate.click()
    played = [event for event in shown[-1].trace if event["type"] == kind]
    assert len(played) > 10 and one.status.value == ""
    assert right.splitlines()[played[1]["line"] - 1].strip().startswith("def ")
    assert shown[-1].code == right


def test_what_a_played_cell_raises_is_told(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    build(tmp_path / "animations")
    monkeypatch.setattr(animation, "FOLDERS", (tmp_path / "animations",))
    wrong = solution_text(find("178")).replace("self.ref[block] += 1", "raise KeyError(block)")
    one, shown = panel(shell, "178", wrong, monkeypatch)
    one.samples.click()
    one.animate.click()
    assert one.status.value == "Your code raised KeyError: the run ends there."
    assert shown[-1].trace[-1]["raised"] == "KeyError"


def test_hints_come_one_at_a_time(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> None:
    one, shown = panel(shell, "192 --lang zh", "x = 1", monkeypatch)
    hints = find("192").hints
    for count in range(1, len(hints) + 2):
        one.hint.click()
        assert isinstance(shown[-1], ipywidgets.HTML)
        assert shown[-1].value.count("<li>") == min(count, len(hints))


def test_a_cell_that_is_refused_leaves_no_run_to_play(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, shown = panel(shell, "192 --no-engine", "def something(): pass", monkeypatch)
    one.submit.click()
    assert "CE" in repr(shown[-1]) and one.animate.disabled
    one.animate.click()
    assert len(shown) == 1


def test_a_wrong_line_shows_the_right_form(shell: InteractiveShell) -> None:
    with capture_output() as captured:
        shell.run_cell_magic("exercise", "999", "x = 1")
        shell.run_cell_magic("exercise", "", "x = 1")
    assert "There is no exercise '999'" in captured.stdout and "%%exercise 192" in captured.stdout


def test_each_exercise_has_an_animation_that_exists() -> None:
    for one in load_exercises().values():
        assert animation_of(one) in NAMES
    assert json.loads(Path("animations/for_exercise.json").read_text())["otherwise"][0] in NAMES
