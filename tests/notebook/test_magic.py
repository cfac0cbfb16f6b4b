"""`%%judge` in a real IPython shell."""

from __future__ import annotations

import pytest
from IPython.utils.capture import capture_output

from judge.exercises import find
from judge.notebook.line import parse_line
from judge.solution import solution_text


def judged(shell, line, cell):
    with capture_output() as captured:
        shell.run_cell_magic("judge", line, cell)
    shown = [output.data for output in captured.outputs]
    return captured.stdout, shown


@pytest.mark.parametrize("line", ["", "192 176", "192 --fast", "192 --lang", "192 --lang fr", "'192"])
def test_a_wrong_line_shows_the_right_form(shell, line):
    out, shown = judged(shell, line, "x = 1")
    assert "%%judge 192" in out and not shown


def test_an_unknown_exercise_is_named(shell):
    assert "There is no exercise '999'" in judged(shell, "999", "x = 1")[0]


def test_the_language_of_the_line_counts():
    assert parse_line("192 --lang zh") == ("192", set(), "zh")


def test_an_accepted_cell_also_defines_the_function(shell):
    _, shown = judged(shell, "176 --no-engine", solution_text(find("176")))
    assert "AC · Accepted" in shown[0]["text/plain"]
    assert '<section lang="en"' in shown[0]["text/html"]
    assert shell.user_ns["page_address"]([7, 1, 3], 9, 4)["physical_block"] == 3


def test_a_cell_that_does_not_end_is_not_run_in_the_notebook(shell):
    loop = "def page_address(block_table, position, block_size):\n    while True: pass\n"
    _, shown = judged(shell, "176 --no-engine", loop)
    assert "TLE" in shown[0]["text/plain"]
    assert "page_address" not in shell.user_ns


def test_what_the_learner_prints_cannot_become_html(shell):
    cell = "def page_address(block_table, position, block_size):\n    print('<script>alert(1)</script>')\n"
    _, shown = judged(shell, "176 --samples", cell)
    assert "<script>" not in shown[0]["text/html"]
    assert "&lt;script&gt;" in shown[0]["text/html"]
