"""A failing submission is told the mistake that it makes, when it is a known one."""

from __future__ import annotations

from judge.harness.diagnosis import diagnose
from judge.harness.local import expected_answer, load_reference, load_target, run_local
from judge.harness.outcome import judge_case

CODE = """
def double_all(numbers):
    if any(number < 0 for number in numbers):
        raise ValueError
    return [2 * number for number in numbers]
"""


def diagnosis(exercise, code: str):
    hidden = exercise.hidden
    target, reference = load_target(exercise, code, "mine.py"), load_reference(exercise)
    cases = hidden.cases("seed")
    expected = [expected_answer(hidden, reference, case)[0] for case in cases]
    answers = [run_local(hidden, target, case, "mine.py") for case in cases]
    outcomes = [judge_case(hidden, *each) for each in zip(cases, expected, answers, strict=True)]
    found = diagnose(hidden, outcomes, expected)
    return found.letter if found else None


def test_equal_outputs_decide_between_mutants_that_fail_alike(make_toy):
    exercise = make_toy()
    assert diagnosis(exercise, CODE.replace("2 *", "3 *")) == "a"
    assert diagnosis(exercise, CODE.replace("2 *", "4 *")) == "c"


def test_failures_alike_are_enough_when_no_output_is_equal(make_toy):
    assert diagnosis(make_toy(), CODE.replace("2 *", "5 *")) == "a"


def test_another_exception_is_another_mistake(make_toy):
    exercise = make_toy()
    assert diagnosis(exercise, CODE.replace("ValueError", "IndexError")) == "b"
    assert diagnosis(exercise, CODE.replace("raise ValueError", "1 / 0")) == "b", "the same rule broke"


def test_two_mistakes_at_once_match_none(make_toy):
    assert diagnosis(make_toy(), CODE.replace("2 *", "3 *").replace("ValueError", "IndexError")) is None


def test_nothing_is_wrong_with_what_is_right(make_toy):
    assert diagnosis(make_toy(), CODE) is None
