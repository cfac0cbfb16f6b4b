"""The one entry for the worker: ``call(name, arguments as JSON, emit)`` gives a report as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from judge_runner import free, interrupts, lint, own_run, samples
from judge_runner.clean_slate import CleanSlate

_slate = CleanSlate()


def call(name: str, args: str, emit: Callable[[str, str], None]) -> str:
    """Run one task. ``emit`` gets the type and the JSON of what comes before the report."""

    def send(type: str, value: Any) -> None:
        emit(type, to_json(value))

    interrupts.watch()
    try:
        return to_json(_TASKS[name](json.loads(args), send))
    finally:
        _slate.restore()


def to_json(value: Any) -> str:
    """ASCII, for half a surrogate pair is no text for the page; a float that JSON does not have is null."""
    try:
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(_finite(value), separators=(",", ":"))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _generate(args: dict[str, Any], emit: Callable[[str, Any], None]) -> dict[str, Any]:
    if (args.get("exercise") or {}).get("ownRun"):
        return own_run.run(args, emit)
    from judge_runner import generate  # the engine takes its time to import

    return generate.run(args, emit)


_TASKS: dict[str, Callable[[dict[str, Any], Callable[[str, Any], None]], dict[str, Any]]] = {
    "samples": samples.run,
    "run": free.run,
    "lint": lint.run,
    "generate": _generate,
}
