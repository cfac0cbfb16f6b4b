"""The public samples on the learner's function, told in the words of the judge."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from judge.i18n import both
from judge.sample_words import message, titles
from judge.sandbox.inside import samples
from judge_runner import errors, interrupts, submission
from judge_runner.counting import Counter
from judge_runner.ending import told_in
from judge_runner.output import Output, printing_to

_SAMPLES = "samples.py"


def run(args: dict[str, Any], emit: Callable[[str, Any], None]) -> dict[str, Any]:
    """``SamplesReport`` of runner/types.ts; each sample is emitted as soon as it is known."""
    exercise = args["exercise"]
    report: dict[str, Any] = {"results": [], "stopped": None, "cannot": None}
    output = Output(lambda text: emit("output", text))
    counters: list[Counter] = []
    try:
        with told_in(report, output), printing_to(output):
            target = submission.load(args["code"], exercise, lambda: emit("begun", None), counters)
            _run_all(exercise["samples"], target, report, emit)
    except submission.CannotRun as error:
        report["cannot"] = error.told
    stopped = report["stopped"]
    if stopped and counters and "line" in stopped:
        stopped["hits"] = counters[0].of(stopped["line"])
    return report


def _run_all(source: str, target: Any, report: dict[str, Any], emit: Callable[[str, Any], None]) -> None:
    named = titles(source)
    tests = samples.iterate(samples.prepare(source, _SAMPLES), _SAMPLES, target, errors.FILE)
    start = time.perf_counter()
    for outcome in tests:
        if interrupts.was_asked():
            report["stopped"] = {"why": "interrupt", "line": outcome.raised_line}
        elif outcome.message.startswith("MemoryError"):
            report["stopped"] = {"why": "memory"}
        seconds = time.perf_counter() - start
        result = _shown(outcome, named[outcome.name], seconds)
        if interrupts.was_asked() and not outcome.ok:
            result["message"] = _stopped(outcome.raised_line, seconds)
        report["results"].append(result)
        emit("sample", result)
        if report["stopped"]:
            return
        start = time.perf_counter()


def _shown(outcome: samples.Outcome, title: dict[str, str], seconds: float) -> dict[str, Any]:
    return {
        "name": outcome.name,
        "ok": outcome.ok,
        "title": title,
        "line": outcome.raised_line,
        "sampleLine": outcome.line,
        "assertion": outcome.assertion or None,
        "expected": outcome.expected or None,
        "got": outcome.got or None,
        "message": _message(outcome) or None,
        "stdout": outcome.stdout,
        "seconds": seconds,
    }


def _stopped(line: int | None, seconds: float) -> dict[str, str]:
    """What a sample that the page has stopped says in place of the exception that stopped it."""
    taken = f"{seconds:.1f}".removesuffix(".0")
    if line is None:
        return both("runner.stopped_somewhere", seconds=taken)
    return both("runner.stopped_at", seconds=taken, line=line)


def _message(outcome: samples.Outcome) -> dict[str, str]:
    """In the judge's words; what our torch says in both languages is told in each."""
    name, _, said = outcome.message.partition(": ")
    if name.startswith("NotInTab") and " / " in said:
        en, _, zh = said.partition(" / ")
        return both("verdict.sample_raised", line=outcome.raised_line or "?", message={"zh": zh, "en": en})
    return message(outcome.raised_line, outcome.message)
