"""The table of five rounds in chapter 7 is what the references of exercises 188 and 190 compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from judge.exercises import find
from judge.solution import solution_text
from tools.book.page import ROOT

ARRIVALS = [
    {"id": "A", "round": 0, "prompt": 3, "output": 2},
    {"id": "B", "round": 0, "prompt": 6, "output": 1},
    {"id": "C", "round": 1, "prompt": 2, "output": 2},
]
BLOCKS, BUDGET, BLOCK_SIZE = 3, 6, 4


def reference(number: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {}
    exec(solution_text(find(number)), namespace)
    function: Callable[..., Any] = namespace[find(number).name]
    return function


def rows() -> list[list[str]]:
    """The cells of each round, as the page writes them."""
    continuous_step, steps = reference("188"), []

    def step(requests: list[dict[str, Any]], *rest: int) -> dict[str, Any]:
        before = [f"{r['id']} {r['computed']}/{r['target']}" for r in requests if not r.get("finished")]
        result: dict[str, Any] = continuous_step(requests, *rest)
        steps.append((before, BUDGET - result["token_budget"]))
        return result

    records = reference("190")(step, ARRIVALS, BLOCKS, BUDGET, BLOCK_SIZE)
    table = []
    for record, (before, used) in zip(records, steps, strict=True):
        got, held = (", ".join(f"{k} {n}" for k, n in record[key].items()) for key in ("scheduled", "blocks"))
        table.append([str(record["round"]), ", ".join(before), got, str(used), held, str(record["free"])])
    return table


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_table_is_what_the_references_compute(lang: str) -> None:
    text = (ROOT / "chapters" / lang / "07_scheduler.md").read_text(encoding="utf-8")
    written = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    assert [row for row in written if row[0].isdigit()] == rows()
