"""The unit part: the hidden cases, one after the other, in one box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from judge.harness.diagnosis import diagnose
from judge.harness.local import Answer, Collaborator, expected_answer, load_reference, with_report
from judge.harness.outcome import Outcome, judge_case
from judge.hidden_module import Hidden
from judge.sandbox import Box, Raised, Stopped, Usage
from judge.types import Case, Diagnosis, Group, GroupResult, Refused, TimeRow, Verdict, worst

OnGroup = Callable[[int, GroupResult], None]


@dataclass
class UnitResult:
    """What the unit part found. ``stopped`` and its group are set when the box did not reach the end."""

    groups: list[GroupResult]
    outcomes: list[Outcome] = field(default_factory=list)
    expected: list[list[Any]] = field(default_factory=list)
    times: list[TimeRow] = field(default_factory=list)
    stopped: Stopped | None = None
    usage: Usage = field(default_factory=Usage)
    diagnosis: Diagnosis | None = None

    @property
    def verdict(self) -> Verdict:
        return worst(*(group.verdict for group in self.groups if group.verdict is not None))

    @property
    def score(self) -> float:
        """The share of the groups, by their weights."""
        whole = sum(group.weight for group in self.groups)
        return sum(group.weight * group.score for group in self.groups) / whole

    @property
    def passed(self) -> int:
        return sum(group.passed for group in self.groups)

    @property
    def total(self) -> int:
        return sum(group.total for group in self.groups)


def run_unit(hidden: Hidden, box: Box, cases: list[Case], on_group: OnGroup) -> UnitResult:
    """Judge the loaded submission and end its box in order.

    A wrong answer or an exception does not stop the run: groups are judged on their own. A limit does, or a
    box that ended; later groups are then not run. Raises Stopped for verdict SE, TrustedFault for our faults.
    """
    result = UnitResult(empty_groups(hidden, cases))
    reference = load_reference(hidden.exercise)
    # all of them first: going back and forth between two processes makes both slower
    due = [expected_answer(hidden, reference, case) for case in cases]
    number = 0
    try:
        for number, (group, row) in enumerate(zip(hidden.groups, result.groups, strict=True)):
            row.verdict = Verdict.AC
            for case, expected in zip(cases, due, strict=True):
                if case.group == group.name:
                    _run_case(hidden, box, case, expected, row, result)
            row.score = float(row.verdict is Verdict.AC)
            if number + 1 < len(result.groups):
                on_group(number, row)
        result.usage = box.finish()
        on_group(number, result.groups[number])
    except Stopped as stopped:
        if stopped.verdict is Verdict.SE:
            raise
        result.stopped, result.usage = stopped, stopped.usage
        row = result.groups[number]
        row.verdict, row.score = worst(row.verdict or Verdict.AC, stopped.verdict), 0.0
        on_group(number, row)
    if result.verdict in (Verdict.WA, Verdict.RE):
        result.diagnosis = diagnose(hidden, result.outcomes, result.expected)
    return result


def _unwritten(notes: list[Raised]) -> Raised | None:
    """The starter's NotImplementedError, which no contract asks for: told as it is, not as a wrong answer."""
    return next(
        (note for note in notes if note.name == "NotImplementedError" and note.line is not None), None
    )


def empty_groups(hidden: Hidden, cases: list[Case]) -> list[GroupResult]:
    """The groups before anything has run."""
    return [_empty(group, sum(case.group == group.name for case in cases)) for group in hidden.groups]


def _empty(group: Group, total: int) -> GroupResult:
    title = {"zh": group.zh, "en": group.en}
    return GroupResult(group.name, title, None, 0.0, 0.0, 0, total, group.weight)


def _run_case(
    hidden: Hidden,
    box: Box,
    case: Case,
    due: tuple[list[Any], float],
    row: GroupResult,
    result: UnitResult,
) -> None:
    expected, due_seconds = due
    trusted = hidden.trusted(case)
    try:
        given = box.case(hidden.drive_source, case.data, Collaborator(trusted))
    except Refused as refusal:
        answer, seconds = Answer(refused=refusal.broken), 0.0
    else:
        seconds = given.seconds
        raised = given.raised or _unwritten(given.notes)
        if raised is not None:
            answer = Answer(raised=raised)
        else:
            answer = Answer(emitted=with_report(trusted, given.emitted))
    outcome = judge_case(hidden, case, expected, answer)
    result.outcomes.append(outcome)
    result.expected.append(expected)
    row.seconds += seconds
    row.passed += outcome.verdict is Verdict.AC
    row.verdict = worst(row.verdict or Verdict.AC, outcome.verdict)
    if case.size is not None:
        result.times.append(TimeRow(case.size, seconds, due_seconds))
