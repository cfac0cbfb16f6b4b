"""A checker judges whatever a box may emit: it never fails itself, and never accepts what is not due."""

from __future__ import annotations

import copy
import random
from typing import Any

import torch

from judge.exercises import Exercise
from judge.harness.local import expected_answer, load_reference
from judge.sandbox.protocol import Opaque, arrived

STRANGE: list[Any] = [
    None,
    True,
    -1,
    1 << 62,
    float("nan"),
    "x",
    "",
    [],
    [[]],
    {},
    {"value": None},
    {"error": 3},
    {"value": {"requests": [[]]}},
    arrived(torch.tensor([1, 2], dtype=torch.int32)),
    arrived(torch.empty(0, dtype=torch.int32)),
    arrived(torch.ones(2, 3)),
    Opaque("builtins.object"),
]
MOST_PLACES = 200
"""Of one case: a script of thirty steps leaves a thousand."""


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place inside lists and dicts."""
    found = [path] if path else []
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += places(item, (*path, i))
    elif isinstance(value, dict):
        for key, item in value.items():
            found += places(item, (*path, key))
    return found


def changed(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    twin = copy.deepcopy(value)
    spot = twin
    for step in path[:-1]:
        spot = spot[step]
    spot[path[-1]] = new
    return twin


def test_strange_values_never_break_the_checker(exercise: Exercise) -> None:
    """The report of a trusted object is not the box's to emit; all before it is."""
    rng = random.Random(7)
    hidden, reference = exercise.hidden, load_reference(exercise)
    makes_report = hasattr(hidden.trusted(hidden.cases("strange")[0]), "report")
    cases = hidden.cases("strange")
    for case in rng.sample(cases, min(len(cases), 12)):
        due = expected_answer(hidden, reference, case)[0]
        emitted, report = (due[:-1], due[-1:]) if makes_report else (due, [])
        assert hidden.check(case, due, copy.deepcopy(due)) is None
        everywhere = places(emitted)
        for path in rng.sample(everywhere, min(len(everywhere), MOST_PLACES)):
            for strange in rng.sample(STRANGE, 5):
                hidden.check(case, due, changed(emitted, path, strange) + report)
        for wrong in ([], emitted[:-1], [*emitted, None], [*emitted, []], [None] * len(emitted), [[]] * 9):
            assert hidden.check(case, due, wrong + report) is not None


def test_pretended_calls_are_noticed(exercise: Exercise) -> None:
    """A box that emits all that is due, but asked the trusted object nothing."""
    hidden, reference = exercise.hidden, load_reference(exercise)
    for case in hidden.cases("pretended"):
        due = expected_answer(hidden, reference, case)[0]
        if hasattr(hidden.trusted(case), "report") and due[-1]:
            assert hidden.check(case, due, [*due[:-1], []]) is not None


def test_a_changed_value_is_never_accepted(exercise: Exercise) -> None:
    """Whole emitted values, replaced by those of another case of the same group, are noticed."""
    hidden, reference = exercise.hidden, load_reference(exercise)
    cases = hidden.cases("swapped")
    due = [expected_answer(hidden, reference, case)[0] for case in cases]
    noticed = sum(
        hidden.check(case, mine, other) is not None
        for case, mine, other in zip(cases, due, [*due[1:], due[0]], strict=True)
        if str(mine) != str(other)
    )
    differing = sum(str(mine) != str(other) for mine, other in zip(due, [*due[1:], due[0]], strict=True))
    assert noticed >= 0.95 * differing
