"""Recognise a known mistake: the listed mutant whose failures are those of the submission."""

from __future__ import annotations

import re
from collections.abc import Sequence

from judge.harness.local import load_target, run_local
from judge.harness.outcome import Outcome, judge_case, same_output
from judge.hidden_module import Hidden
from judge.types import Diagnosis, Mutant, Verdict


def diagnose(
    hidden: Hidden, outcomes: Sequence[Outcome], expected: Sequence[list[object]]
) -> Diagnosis | None:
    """The mutant that fails the same cases by the same rules; equal outputs decide between several.

    Without equal outputs the first failure has to read alike, numbers and exceptions aside: a hint that is
    not true is worse than none. ``outcomes`` and ``expected`` belong together, case by case. None when all
    passed or no mutant matches.
    """
    if all(outcome.verdict is Verdict.AC for outcome in outcomes):
        return None
    best: Mutant | None = None
    for mutant in hidden.mutants:
        theirs = mutant_outcomes(hidden, mutant, outcomes, expected)
        if theirs is None:
            continue
        if all(same_output(mine, his) for mine, his in zip(outcomes, theirs, strict=True)):
            best = mutant
            break
        if best is None and _first_sentence(theirs) == _first_sentence(outcomes):
            best = mutant
    return Diagnosis(best.letter, best.zh, best.en) if best else None


def _first_sentence(outcomes: Sequence[Outcome]) -> str:
    """What the first failure says in English, without its numbers and names of exceptions."""
    said = next((outcome.text["en"] for outcome in outcomes if outcome.text), "")
    return re.sub(r"\d+|\w+Error", "", said)


def mutant_outcomes(
    hidden: Hidden, mutant: Mutant, outcomes: Sequence[Outcome], expected: Sequence[list[object]]
) -> list[Outcome] | None:
    """The mutant's outcomes on the same cases, or None at the first that is not alike."""
    filename = f"<mutant {mutant.letter} of {hidden.exercise.key}>"
    target = load_target(hidden.exercise, mutant_source(hidden, mutant), filename)
    theirs: list[Outcome] = []
    for outcome, due in zip(outcomes, expected, strict=True):
        answer = run_local(hidden, target, outcome.case, filename)
        theirs.append(judge_case(hidden, outcome.case, due, answer))
        if theirs[-1].signature != outcome.signature:
            return None
    return theirs


def mutant_source(hidden: Hidden, mutant: Mutant) -> str:
    """The mutant's module; ``"starter"`` stands for the starter of a find-the-bug exercise."""
    if mutant.code == "starter":
        return hidden.exercise.starter_path.read_text(encoding="utf-8")
    return mutant.code
