"""What `prove` says of an exercise in which one thing is wrong."""

from __future__ import annotations

import pytest
import toy

from judge.harness.prove import prove

NEGATIVE_FOR_FREE = toy.HIDDEN.replace(
    "io.emit(io.attempt(target, numbers))",
    'io.emit(io.attempt(target, numbers) if min(numbers) > 0 else {"error": "ValueError"})',
)
REFUSES_ALL = toy.HIDDEN.replace("text = difference(expected, got)", 'text = {"zh": "错。", "en": "Wrong."}')

FLAWS = {
    "a mutant that is right": (
        {"hidden": toy.HIDDEN.replace('CODE.replace("2 *", "3 *")', "CODE")},
        "mutant a gets AC",
    ),
    "two mutants that are one": (
        {"hidden": toy.HIDDEN.replace('"4 *"', '"3 *"')},
        "mutant c gets the diagnosis of another one: a",
    ),
    "a mutant that does not parse": (
        {"hidden": toy.HIDDEN.replace('CODE.replace("2 *", "3 *")', '"def"')},
        "mutant a gets CE",
    ),
    "too few mutants": (
        {"hidden": toy.HIDDEN + "\nMUTANTS.pop()\n"},
        "has 2 mutants, fewer than 3",
    ),
    "a reference that fails the samples": (
        {"solution": toy.SOLUTION.replace("2 *", "3 *")},
        "the reference fails sample test_three",
    ),
    "a checker that refuses the reference": (
        {"hidden": REFUSES_ALL},
        "the reference is not accepted: WA, Wrong answer, group 1. Wrong.",
    ),
    "a group that the starter passes": (
        {"hidden": NEGATIVE_FOR_FREE},
        "group negative does not fail on the starter (zh)",
    ),
    "samples that test nothing": (
        {"samples": "def test_three(target):\n    pass\n"},
        "all samples pass on the starter (en)",
    ),
}


@pytest.mark.parametrize("name", FLAWS)
def test_a_flaw_is_found(make_toy, pool, name):
    changed, words = FLAWS[name]
    findings = prove(make_toy(**changed), pool)
    assert any(f"160_double_all: {words}" in finding for finding in findings), findings


def test_a_sound_exercise_is_proved(make_toy, pool):
    assert prove(make_toy(), pool) == []
