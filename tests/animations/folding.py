"""Traces, and what the animations make of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
TRACES = HERE.parents[1] / "animations" / "traces"


@dataclass(frozen=True)
class Folded:
    """What a module makes of a trace."""

    steps: list[dict[str, Any]]
    at: list[dict[str, Any]]
    folded: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    seconds: float


Fold = Callable[..., Folded]


def read(name: str) -> list[dict[str, Any]]:
    """A recorded trace."""
    lines = (TRACES / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]
