"""A learner's own run where the engine does not call the function: ``own_run.py`` makes the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from judge import own_run
from judge_runner import errors, interrupts, submission
from judge_runner.ending import told_in
from judge_runner.output import Output, printing_to

Emit = Callable[[str, Any], None]


def run(args: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """``GenerateReport`` of runner/types.ts; its trace is what ``own_run`` made up to the end."""
    exercise = args["exercise"]
    report: dict[str, Any] = {
        "texts": [], "tokens": [], "cached": [], "finish": [], "seconds": 0.0, "tokensPerSecond": 0.0,
        "trace": [], "pages": None, "tokensEqual": None, "used": [],
        "stopped": None, "cannot": None, "error": None,
    }  # fmt: skip
    output = Output(lambda text: emit("output", text))
    try:
        with told_in(report, output), printing_to(output):
            target = submission.load(args["code"], exercise, lambda: emit("begun", None))
            if exercise["ownRun"]["engine"]:
                report |= _engine(args, emit)
            if report["stopped"] is None and report["error"] is None:
                trace, report["trace"] = report["trace"], []
                _play(exercise["ownRun"]["source"], target, trace, report)
    except submission.CannotRun as error:
        report["cannot"] = error.told
    except Exception as error:
        report["error"] = errors.told(error)
    return report


def _engine(args: dict[str, Any], emit: Emit) -> dict[str, Any]:
    """The report of a run of the engine as it is: nothing of the learner's is in it."""
    from judge_runner import generate  # the engine takes its time to import

    return generate.run({"prompts": args["prompts"], "maxTokens": args["maxTokens"], "trace": True}, emit)


def _play(source: str, target: Any, trace: list[dict[str, Any]], report: dict[str, Any]) -> None:
    """Collect the events; those before a stop stay. Learner code may have caught the interrupt."""
    for event in own_run.events(source, target, trace):
        report["trace"].append(event)
        if interrupts.was_asked():
            report["stopped"] = {"why": "interrupt", "line": event.get("line")}
            return
