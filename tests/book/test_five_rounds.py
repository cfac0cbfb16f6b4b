"""The table of five rounds in chapter 7 is what the reference of exercise 188 computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from judge.exercises import find
from judge.solution import solution_text
from tools.book.page import ROOT

ARRIVALS = {0: [("A", 3, 2), ("B", 6, 1)], 1: [("C", 2, 2)]}  # round: id, prompt, tokens to generate
BLOCKS, BUDGET, BLOCK_SIZE = 3, 6, 4


def reference() -> Callable[..., dict[str, Any]]:
    namespace: dict[str, Any] = {}
    exec(solution_text(find("188")), namespace)
    step: Callable[..., dict[str, Any]] = namespace["continuous_step"]
    return step


def rows() -> list[list[str]]:
    """The cells of each round, as the page writes them."""
    step, live, free, due = reference(), [], BLOCKS, {}
    table = []
    for number in range(5):
        for name, length, output in ARRIVALS.get(number, []):
            live.append({"id": name, "computed": 0, "target": length, "blocks": 0})
            due[name] = output
        before = [f"{r['id']} {r['computed']}/{r['target']}" for r in live if not r.get("finished")]
        result = step(live, free, BUDGET, BLOCK_SIZE)
        live, free = result["requests"], result["free_blocks"]
        got = [f"{r['id']} {r['scheduled']}" for r in live]
        held = [f"{r['id']} {r['blocks']}" for r in live]
        used = BUDGET - result["token_budget"]
        table.append([str(number), ", ".join(before), ", ".join(got), str(used), ", ".join(held), str(free)])
        for request in live:
            if request.pop("scheduled") and request["computed"] == request["target"]:
                due[request["id"]] -= 1
                request["target"] += due[request["id"]] > 0
                request["finished"] = due[request["id"]] == 0
    return table


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_table_is_what_the_reference_computes(lang: str) -> None:
    text = (ROOT / "chapters" / lang / "07_scheduler.md").read_text(encoding="utf-8")
    written = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    assert [row for row in written if row[0].isdigit()] == rows()
