"""The reference passes, what is handed out does not, and known mistakes are found and named."""

from __future__ import annotations

import random

import pytest

from judge.exercises import Exercise, load_exercises
from judge.harness.diagnosis import diagnose, mutant_source
from judge.harness.local import expected_answer, load_reference, load_target, run_local
from judge.harness.outcome import Outcome, judge_case
from judge.solution import solution_text
from judge.starter import starter
from judge.types import Case, Verdict

SEEDS = ("one", "two", "three")
ALL = load_exercises().values()


def judged(exercise: Exercise, source: str, seed: str) -> tuple[list[Outcome], list[list[object]]]:
    """How a module fares on all hidden cases of a seed, and what was due."""
    hidden = exercise.hidden
    cases = hidden.cases(seed)
    reference = load_reference(exercise)
    due = [expected_answer(hidden, reference, case)[0] for case in cases]
    target = load_target(exercise, source, "submission.py")
    answers = [run_local(hidden, target, case, "submission.py") for case in cases]
    outcomes = [judge_case(hidden, *parts) for parts in zip(cases, due, answers, strict=True)]
    return outcomes, due


def test_found() -> None:
    assert {exercise.id for exercise in ALL} >= {176, 188, 192, 193, 196}


@pytest.mark.parametrize("seed", SEEDS)
def test_reference_is_accepted(exercise: Exercise, seed: str) -> None:
    outcomes, _ = judged(exercise, exercise.solution, seed)
    assert [(o.case.group, o.rule, o.text) for o in outcomes if o.verdict is not Verdict.AC] == []


def test_reference_as_shown_is_accepted(exercise: Exercise) -> None:
    outcomes, _ = judged(exercise, solution_text(exercise), "one")
    assert {outcome.verdict for outcome in outcomes} == {Verdict.AC}


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_starter_fails_every_group(exercise: Exercise, lang: str) -> None:
    """No group counts for a file in which nothing has been written."""
    outcomes, _ = judged(exercise, starter(exercise, lang), "one")
    passed = {group.name for group in exercise.hidden.groups}
    passed -= {outcome.case.group for outcome in outcomes if outcome.verdict is not Verdict.AC}
    assert passed == set()


@pytest.mark.parametrize("seed", SEEDS)
def test_every_mutant_gets_its_own_diagnosis(exercise: Exercise, seed: str) -> None:
    hidden = exercise.hidden
    assert len(hidden.mutants) >= 3
    rules = {rule.number for rule in exercise.rules}
    for mutant in hidden.mutants:
        outcomes, due = judged(exercise, mutant_source(hidden, mutant), seed)
        found = diagnose(hidden, outcomes, due)
        assert found is not None and found.letter == mutant.letter, f"mutant {mutant.letter}: {found}"
        wrong = [outcome for outcome in outcomes if outcome.verdict is Verdict.WA]
        assert wrong, f"mutant {mutant.letter} breaks no rule"
        assert {outcome.rule for outcome in wrong} <= rules
        assert all(outcome.text and outcome.text["zh"] and outcome.text["en"] for outcome in wrong)


def test_cases_are_repeatable_and_vary(exercise: Exercise) -> None:
    """The same seed replays a run; another seed gives other inputs in the same groups."""
    hidden = exercise.hidden
    if exercise.form == "write_the_tests":
        # what tests meet is the same each time, and nothing of it enters a box
        assert [case.data for case in hidden.cases("one")] == [{}] * (len(hidden.planted) + 2)
        return

    def shape(cases: list[Case]) -> list[str]:
        return [f"{case.group} {case.data}" for case in cases]

    assert shape(hidden.cases("one")) == shape(hidden.cases("one"))
    assert shape(hidden.cases("one")) != shape(hidden.cases("two"))
    assert 3 <= len(hidden.groups) <= 6
    assert 15 <= len(hidden.cases("one")) <= 110


def test_inputs_do_not_leak_into_each_other(exercise: Exercise) -> None:
    """A case gives the same answer on its own as in the whole run: no object is shared between cases."""
    hidden = exercise.hidden
    reference = load_reference(exercise)
    first = [expected_answer(hidden, reference, case)[0] for case in hidden.cases("one")]
    shuffled = list(enumerate(hidden.cases("one")))
    random.Random(0).shuffle(shuffled)
    again = {place: expected_answer(hidden, reference, case)[0] for place, case in shuffled}
    assert [str(value) for value in first] == [str(again[place]) for place in range(len(first))]


def test_engine_jobs_are_well_formed(exercise: Exercise) -> None:
    jobs = exercise.hidden.make_jobs()
    assert len({job.name for job in jobs}) == len(jobs) > 0
    for job in jobs:
        assert job.slots % job.page_size == 0
        for prompts in job.calls:
            assert prompts and all(0 <= token < 512 for prompt in prompts for token in prompt)
            assert all(len(prompt) + job.max_tokens <= min(job.slots, job.max_seq_len) for prompt in prompts)
