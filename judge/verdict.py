"""Verdicts in words: what happened, where, and nothing of a hidden input."""

from __future__ import annotations

import builtins
from typing import Any, Literal

from judge.exercises import Exercise
from judge.harness.outcome import Outcome
from judge.harness.unit import UnitResult
from judge.i18n import both
from judge.sandbox import Limits, Stopped
from judge.types import SampleResult, Text


def unit_text(unit: UnitResult, limits: Limits) -> tuple[Text, int | None, int | None]:
    """Message, number of the broken rule, line of the learner's file; for a unit part that is not accepted.

    It tells of the first group with the worst verdict.
    """
    number = next(n for n, row in enumerate(unit.groups, start=1) if row.verdict is unit.verdict)
    group = unit.groups[number - 1]
    stopped = unit.stopped
    if stopped is not None and stopped.verdict is unit.verdict:
        return stop_text("group", stopped, limits, group=number), None, stopped.detail.get("line")
    outcome = next(o for o in unit.outcomes if o.case.group == group.name and o.verdict is unit.verdict)
    if outcome.raised is not None:
        error = _error(outcome.raised.name, outcome.raised.line)
        return both("verdict.re", group=number, error=error), None, outcome.raised.line
    return _wrong(number, outcome), outcome.rule, outcome.answer.line


def _wrong(number: int, outcome: Outcome) -> Text:
    if outcome.text is not None and all(outcome.text.values()):
        return both("verdict.wa", group=number, text=outcome.text)
    return both("verdict.wa_rule", group=number, rule=outcome.rule)


def samples_text(samples: list[SampleResult]) -> Text:
    """How the samples went."""
    failed = [sample for sample in samples if not sample.ok]
    if not failed:
        return both("verdict.samples_pass", passed=len(samples), total=len(samples))
    return both("verdict.samples_fail", failed=len(failed), total=len(samples), title=failed[0].title)


def accepted_text(unit: UnitResult, tokens: int | None, *, has_engine: bool) -> Text:
    """``tokens``: how many the engine wrote as the reference; None when it did not run, or has no part."""
    if tokens is None:
        key = "verdict.ac_no_engine" if has_engine else "verdict.ac_unit"
        return both(key, passed=unit.passed, total=unit.total)
    return both("verdict.ac", passed=unit.passed, total=unit.total, tokens=tokens)


def stop_text(
    where: Literal["group", "load", "sample", "engine"], stopped: Stopped, limits: Limits, *, group: int = 0
) -> Text:
    """What to say when a box ended before its work was done: a limit, an exception, or an exit."""
    key = stopped.verdict.value.lower()
    if where != "group":
        key = f"{where}_{key}"
    detail = stopped.detail
    error = _error(str(detail.get("name", "")), detail.get("line")) if "name" in detail else _exit(detail)
    if where == "engine" and detail.get("message"):
        # the prompts of the engine part are no secret, and its words say which rule was hurt
        error = both("verdict.error_said", error=error, said=str(detail["message"])[:200])
    seconds = limits.wall if detail.get("limit") == "wall" else limits.cpu_s
    return both(f"verdict.{key}", group=group, error=error, seconds=f"{seconds:.2f}", mb=limits.memory_mb)


def refused_text(exercise: Exercise, detail: dict[str, Any], wanted: str) -> Text:
    """Why the box could not use the module (CE): found only once it ran."""
    reason, name = detail.get("reason"), exercise.name
    if reason == "kind":
        return both(f"verdict.ce_not_{exercise.kind}", name=name)
    if reason == "signature":
        return both("verdict.ce_not_signature", name=name, wanted=wanted)
    if reason == "members":
        return both("verdict.ce_missing", name=f"{name}.{detail.get('message', '')}")
    if reason == "syntax":
        said = both("verdict.syntax_other", said=detail.get("message", ""))
        return both("verdict.ce_syntax", line=detail.get("line") or 1, reason=said)
    return both("verdict.ce_missing", name=name)


def _error(name: str, line: int | None) -> Text:
    """The exception and its line. A class of the learner's own is not named: it could spell an input."""
    known = getattr(builtins, name, None)
    shown: Text | str = name
    if not (isinstance(known, type) and issubclass(known, BaseException)):
        shown = both("verdict.error_own")
    if line is None:
        return both("verdict.error_somewhere", name=shown)
    if name == "NotImplementedError":
        return both("verdict.error_unwritten", line=line)
    return both("verdict.error_line", line=line, name=shown)


def _exit(detail: dict[str, Any]) -> Text:
    if detail.get("reason") == "forbidden":
        return both("verdict.error_forbidden")
    if "signal" in detail:
        return both("verdict.error_signal", signal=detail["signal"])
    return both("verdict.error_exit")
