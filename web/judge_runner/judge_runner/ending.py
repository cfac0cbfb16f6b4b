"""Why a run ended before its end: on request, or at a limit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from judge_runner import errors, interrupts
from judge_runner.output import Output, OutputLimit


@contextmanager
def told_in(report: dict[str, Any], output: Output) -> Iterator[None]:
    """Run the block; an interrupt, an end of memory or of output becomes the report's ``stopped``."""
    try:
        yield
    except interrupts.Interrupted as stop:
        report["stopped"] = {"why": "interrupt", "line": errors.line_in(stop.__traceback__)}
    except MemoryError:
        report["stopped"] = {"why": "memory"}
    except OutputLimit:
        report["stopped"] = {"why": "output", "bytes": output.printed}
