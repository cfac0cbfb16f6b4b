"""Trusted code runs here with the encoding of a box, and its collaborators outside."""

from __future__ import annotations

import pytest
import toy

from judge.harness.local import (
    Collaborator,
    TrustedFault,
    expected_answer,
    load_reference,
    load_target,
    run_local,
)
from judge.harness.outcome import judge_case
from judge.sandbox import Opaque
from judge.types import Verdict

WITH_CALLS = """\
from judge.types import Broken, Case, Group, Mutant, Refused

GROUPS = [Group("calls", "调用", "calls")]


def cases(rng):
    yield Case("calls", {"numbers": [3, 5]})


class Trusted:
    def __init__(self):
        self.log = []

    def double(self, number):
        self.log.append(number)
        if number < 0:
            raise Refused(Broken(2, {"zh": "负数。", "en": "A negative number."}))
        if number > 100:
            raise KeyError(number)
        return (number, 2 * number)

    def report(self):
        return self.log


def trusted(case):
    return Trusted()


def drive(target, case, io):
    io.emit(target(case["numbers"], lambda number: io.call("double", number)))


def check(case, expected, got):
    return None if expected == got else Broken(1, {"zh": "错。", "en": "Wrong."})


MUTANTS = []
"""
CALLING = "def double_all(numbers, double):\n    return [double(number)[1] for number in numbers]\n"


@pytest.fixture
def calling(make_toy):
    return make_toy(hidden=WITH_CALLS, solution=CALLING)


def answer(exercise, code: str):
    (case,) = exercise.hidden.cases("seed")
    return run_local(exercise.hidden, load_target(exercise, code, "mine.py"), case, "mine.py")


def test_values_pass_the_encoding_of_a_box(make_toy):
    hidden = toy.HIDDEN.replace("io.emit(numbers)", "io.emit((1, {'a': (2,)}, {3}, 1 << 70))")
    exercise = make_toy(hidden=hidden)
    emitted = expected_answer(exercise.hidden, load_reference(exercise), exercise.hidden.cases("s")[0])[0][1]
    assert emitted[:2] == [1, {"a": [2]}]
    assert all(isinstance(value, Opaque) for value in emitted[2:])


def test_the_report_comes_last_and_is_made_outside(calling):
    assert answer(calling, CALLING).emitted == [[6, 10], [3, 5]]


def test_a_refused_call_ends_the_case_as_wrong(calling):
    code = CALLING.replace("double(number)[1]", "double(-number)[1]")
    given = answer(calling, code)
    assert given.refused is not None and given.refused.rule == 2
    outcome = judge_case(calling.hidden, calling.hidden.cases("seed")[0], [], given)
    assert (outcome.verdict, outcome.rule, outcome.text["en"]) == (Verdict.WA, 2, "A negative number.")


def test_another_exception_of_a_collaborator_is_the_callers(calling):
    assert answer(calling, CALLING.replace("double(number)", "double(1000)")).raised.name == "KeyError"


def test_a_box_may_call_neither_the_report_nor_anything_private(calling):
    collaborator = Collaborator(calling.hidden.trusted(None))
    assert collaborator.double(1) == (1, 2)
    for name in ("report", "_log", "__class__x", "no_such_method"):
        with pytest.raises(AttributeError):
            getattr(collaborator, name)


def test_an_exception_is_kept_with_its_line(make_toy):
    exercise = make_toy(hidden=toy.HIDDEN.replace("io.attempt(target, numbers)", "target(numbers)"))
    given = answer_all(exercise, "def double_all(numbers):\n    x = 1\n    return numbers[9]\n")[0]
    assert (given.raised.name, given.raised.line) == ("IndexError", 3)


def answer_all(exercise, code: str):
    target = load_target(exercise, code, "mine.py")
    return [run_local(exercise.hidden, target, case, "mine.py") for case in exercise.hidden.cases("seed")]


def test_a_reference_that_does_not_get_through_is_our_fault(make_toy):
    exercise = make_toy(
        solution="def double_all(numbers):\n    return numbers[9]\n",
        hidden=toy.HIDDEN.replace("io.attempt(target, numbers)", "target(numbers)"),
    )
    with pytest.raises(TrustedFault, match="the reference raises IndexError"):
        expected_answer(exercise.hidden, load_reference(exercise), exercise.hidden.cases("seed")[0])


@pytest.mark.parametrize("solution", ["x = 1\n", "1 / 0\n", "def double_all(:\n"])
def test_a_solution_without_the_target_is_our_fault(make_toy, solution):
    with pytest.raises(TrustedFault, match=r"160_double_all\.py"):
        load_reference(make_toy(solution=solution))


def test_a_checker_that_raises_is_our_fault(make_toy):
    exercise = make_toy(hidden=toy.HIDDEN.replace("text = difference", "text = no_such_name"))
    with pytest.raises(TrustedFault, match="check raises NameError"):
        judge_case(exercise.hidden, exercise.hidden.cases("s")[0], [], answer_all(exercise, CALLING)[0])
