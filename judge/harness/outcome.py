"""How one case went, judged from what the box answered and what the reference emitted."""

from __future__ import annotations

from dataclasses import dataclass

from judge.harness.compare import same
from judge.harness.local import Answer, TrustedFault
from judge.hidden_module import Hidden
from judge.sandbox.protocol import Raised
from judge.types import Broken, Case, Text, Verdict


@dataclass(frozen=True)
class Outcome:
    """One case. ``answer`` is kept so that a mutant's outputs can be compared with it."""

    case: Case
    answer: Answer
    verdict: Verdict
    rule: int | None = None
    text: Text | None = None
    raised: Raised | None = None

    @property
    def signature(self) -> tuple[str, int | None, str | None]:
        """What a known mistake is recognised by: the verdict, the rule that broke, the exception's class."""
        return self.verdict.value, self.rule, self.raised.name if self.raised else None


def judge_case(hidden: Hidden, case: Case, expected: list[object], answer: Answer) -> Outcome:
    """Compare outside. Raises TrustedFault when the checker itself fails."""
    if answer.refused is not None:
        return _wrong(case, answer, answer.refused)
    if answer.raised is not None:
        return Outcome(case, answer, Verdict.RE, raised=answer.raised)
    try:
        broken = hidden.check(case, expected, answer.emitted)
    except Exception as error:
        raise TrustedFault(f"{hidden.exercise.key}: check raises {type(error).__name__}: {error}") from error
    return Outcome(case, answer, Verdict.AC) if broken is None else _wrong(case, answer, broken)


def same_output(one: Outcome, other: Outcome) -> bool:
    """Whether both ended alike and emitted the same values."""
    return one.signature == other.signature and same(one.answer.emitted, other.answer.emitted)


def _wrong(case: Case, answer: Answer, broken: Broken) -> Outcome:
    return Outcome(case, answer, Verdict.WA, rule=broken.rule, text=broken.text)
