"""The unit part: the hidden cases, one after the other, in one box; or each in a box of its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import msgspec

from judge.harness.diagnosis import diagnose
from judge.harness.local import Answer, Collaborator, expected_answer, load_reference, with_report
from judge.harness.outcome import Outcome, judge_case
from judge.hidden_module import Hidden
from judge.i18n import both
from judge.sandbox import Box, Raised, Stopped, Usage
from judge.sandbox.protocol import packed
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


class Paper:
    """The hidden cases of one run, and what the reference emits on each, with its CPU seconds."""

    def __init__(self, hidden: Hidden, seed: str) -> None:
        self.hidden = hidden
        self.seed = seed

    @cached_property
    def cases(self) -> list[Case]:
        """In the order of the groups."""
        return self.hidden.cases(self.seed)

    @cached_property
    def bodies(self) -> list[msgspec.Raw]:
        """The cases' data, packed."""
        return [packed(case.data) for case in self.cases]

    @cached_property
    def due(self) -> list[tuple[list[Any], float]]:
        """Case by case. Raises TrustedFault."""
        reference = load_reference(self.hidden.exercise)
        pairs = zip(self.cases, self.bodies, strict=True)
        return [expected_answer(self.hidden, reference, case, body) for case, body in pairs]

    def write(self) -> None:
        """Draw the cases and run the reference now."""
        self.due  # noqa: B018


def run_unit(paper: Paper, box: Box, on_group: OnGroup) -> UnitResult:
    """Judge the loaded submission and end its box in order.

    A wrong answer or an exception does not stop the run: groups are judged on their own. A limit does, or a
    box that ended; later groups are then not run. Raises Stopped for verdict SE, TrustedFault for our faults.
    """
    hidden = paper.hidden
    result = UnitResult(empty_groups(hidden, paper.cases))
    given = _answers(paper, box)
    number = 0
    try:
        for number, row in enumerate(result.groups):
            row.verdict = Verdict.AC
            for _ in range(row.total):
                _judge(hidden, *next(given), row, result)
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


def run_tests(paper: Paper, fresh: Callable[[], Box], on_group: OnGroup) -> UnitResult:
    """Judge tests that a learner has written: in random order each implementation meets them in a fresh box.

    So they cannot compare one implementation with another, nor count how many have come. A wrong one counts
    as found only where the right one is spared. ``fresh`` gives a box with the submission loaded. A limit
    ends the run. Raises Stopped for verdict SE, TrustedFault for our faults.
    """
    hidden, cases = paper.hidden, paper.cases
    result = UnitResult(empty_groups(hidden, cases))
    rows = {row.name: row for row in result.groups}
    left = {name: row.total for name, row in rows.items()}
    order = list(range(len(cases)))
    random.Random(f"order of {paper.seed}").shuffle(order)
    met: dict[int, tuple[Outcome, list[Any]]] = {}
    for number in order:
        case, row = cases[number], rows[cases[number].group]
        try:
            with fresh() as box:
                _begin(hidden, box, paper.bodies[number])
                answer, seconds = _end(hidden, box, case)
                result.usage = box.finish()
        except Stopped as stopped:
            if stopped.verdict is Verdict.SE:
                raise
            result.stopped, result.usage = stopped, stopped.usage
            row.verdict = worst(row.verdict or Verdict.AC, stopped.verdict)
            left[row.name] = 0
            break
        _judge(hidden, case, paper.due[number], answer, seconds, row, result)
        left[row.name] -= 1
        met[number] = _with_line(result.outcomes[-1]), result.expected[-1]
    in_order = [met[number] for number in sorted(met)]
    result.outcomes, result.expected = [one for one, _ in in_order], [due for _, due in in_order]
    spared = not left[result.groups[0].name] and result.groups[0].verdict is Verdict.AC
    for number, row in enumerate(result.groups):
        if left[row.name]:
            row.verdict = None
        elif row.verdict is Verdict.AC and not spared:
            row.verdict, row.passed = Verdict.WA, 0
        row.score = float(row.verdict is Verdict.AC)
        if row.verdict is not None:
            on_group(number, row)
    if result.verdict in (Verdict.WA, Verdict.RE):
        result.diagnosis = diagnose(hidden, result.outcomes, result.expected)
        result.outcomes = [_said_once(outcome, result.diagnosis) for outcome in result.outcomes]
    return result


def _answers(paper: Paper, box: Box) -> Iterator[tuple[Case, tuple[list[Any], float], Answer, float]]:
    """Case, what is due, the box's answer and its CPU seconds. Each case is judged beside the next one."""
    hidden = paper.hidden
    following = iter(paper.bodies)
    _begin(hidden, box, next(following, None))
    for case, due in zip(paper.cases, paper.due, strict=True):
        answer, seconds = _end(hidden, box, case)
        _begin(hidden, box, next(following, None))
        yield case, due, answer, seconds


def _begin(hidden: Hidden, box: Box, body: msgspec.Raw | None) -> None:
    if body is not None:
        box.begin_case(hidden.drive_source, body)


def _end(hidden: Hidden, box: Box, case: Case) -> tuple[Answer, float]:
    """The box's answer to the case that it has begun, and its CPU seconds."""
    trusted = hidden.trusted(case)
    try:
        given = box.end_case(Collaborator(trusted))
    except Refused as refusal:
        return Answer(refused=refusal.broken), 0.0
    raised = given.raised or _unwritten(given.notes)
    if raised:
        return Answer(raised=raised), given.seconds
    line = given.notes[-1].line if given.notes and hidden.planted else None
    return Answer(with_report(trusted, given.emitted), line=line), given.seconds


def _said_once(outcome: Outcome, diagnosis: Diagnosis | None) -> Outcome:
    """The same without the words that the diagnosis is made of: both are shown, one below the other."""
    if diagnosis is None or outcome.text is None:
        return outcome
    said = {"zh": diagnosis.zh, "en": diagnosis.en}
    return replace(
        outcome, text={lang: text.replace(said[lang], "").strip() for lang, text in outcome.text.items()}
    )


def _with_line(outcome: Outcome) -> Outcome:
    """The same; where tests were wrong to raise, its words say in which line."""
    if outcome.verdict is not Verdict.WA or outcome.text is None or outcome.answer.line is None:
        return outcome
    more = both("verdict.raised_there", line=outcome.answer.line)
    return replace(outcome, text={lang: f"{text}{more[lang]}" for lang, text in outcome.text.items()})


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


def _judge(
    hidden: Hidden,
    case: Case,
    due: tuple[list[Any], float],
    answer: Answer,
    seconds: float,
    row: GroupResult,
    result: UnitResult,
) -> None:
    expected, due_seconds = due
    outcome = judge_case(hidden, case, expected, answer)
    result.outcomes.append(outcome)
    result.expected.append(expected)
    row.seconds += seconds
    row.passed += outcome.verdict is Verdict.AC
    row.verdict = worst(row.verdict or Verdict.AC, outcome.verdict)
    if case.size is not None:
        result.times.append(TimeRow(case.size, seconds, due_seconds))
