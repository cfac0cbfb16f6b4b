"""Hidden tests of 176 `page_address`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, is_int, outcome
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("places", "块内的各个位置", "places all over a block"),
    Group("edges", "第一格与最后一格", "first and last slots"),
    Group("past_end", "超出块表", "past the end of the table"),
    Group("bad_values", "无效的数值", "values that make no sense"),
]


def cases(rng: random.Random) -> list[Case]:
    """About 40 calls; tables are unordered, so that a sorted one differs at the place asked for."""
    found: list[Case] = []

    def add(group: str, table: list[Any], position: Any, size: Any) -> None:
        found.append(Case(group, {"table": table, "position": position, "size": size}))

    for size in (1, 2, 3, 4, 16, rng.randrange(5, 40)):
        table = _unordered(rng, rng.randrange(3, 9))
        block = rng.choice([i for i, entry in enumerate(table) if sorted(table)[i] != entry])
        add("places", table, block * size + rng.randrange(size), size)
    add(
        "places", [*_unordered(rng, 3), -1, -1], rng.randrange(12), 4
    )  # unused entries are no concern of ours
    for size in (1, 4, rng.randrange(5, 40)):
        table = _unordered(rng, rng.randrange(2, 7))
        for position in (0, size - 1, size, len(table) * size - 1):
            add("edges", table, position, size)
    add("edges", [0], 0, 1)
    add("edges", [0, 5], 3, 4)
    for size in (1, 4, rng.randrange(5, 40)):
        table = _unordered(rng, rng.randrange(1, 6))
        add("past_end", table, len(table) * size, size)
        add("past_end", table, len(table) * size + rng.randrange(1, 200), size)
    add("past_end", [], 0, rng.randrange(1, 9))
    table = _unordered(rng, 4)
    for position in (-1, -rng.randrange(2, 9), True, False, 1.0, "1", None):
        add("bad_values", list(table), position, 4)
    for size in (0, -4, True, 4.0, "4", None):
        add("bad_values", list(table), rng.randrange(1, 4), size)
    for entry in (-1, -rng.randrange(2, 9), True, 2.0, None):
        add("bad_values", [table[0], entry, table[1]], rng.randrange(4, 8), 4)
    add("bad_values", [], -1, 4)
    return found


def _unordered(rng: random.Random, length: int) -> list[int]:
    """Distinct block numbers, the largest of them not last (a single one stands alone)."""
    table = rng.sample(range(2, 60), length)
    if length > 1 and table[-1] == max(table):
        table[0], table[-1] = table[-1], table[0]
    return table


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the table."""
    io.emit(io.attempt(target, case["table"], case["position"], case["size"]))
    io.emit(case["table"])


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors first, then the keys, then block and offset, then the table."""
    if len(got) != len(expected):
        return Broken(3, NO_RESULT)
    if text := outcome(expected[0], got[0]):
        return Broken(_error_rule(case, expected[0], got[0]), text)
    if "value" in expected[0]:
        broken = _check_value(expected[0]["value"], got[0]["value"])
        if broken:
            return broken
    if not same(expected[1], got[1]):
        return Broken(2, {"zh": "调用之后块表变了。", "en": "The block table is changed after the call."})
    return None


def _error_rule(case: Case, expected: dict[str, Any], got: Any) -> int:
    if "value" in expected:
        if any(entry < 0 for entry in case.data["table"]):
            return 6
        return 5 if isinstance(got, dict) and got.get("error") == "IndexError" else 4
    if expected["error"] == "IndexError":
        return 5
    position, size = case.data["position"], case.data["size"]
    return 6 if is_int(position) and position >= 0 and is_int(size) and size >= 1 else 4


def _check_value(due: dict[str, int], seen: Any) -> Broken | None:
    if not isinstance(seen, dict) or set(seen) != set(due):
        zh = "返回的不是恰好有三个键 logical_block、physical_block、offset 的字典。"
        en = "The result is not a dict with exactly the keys logical_block, physical_block and offset."
        return Broken(3, {"zh": zh, "en": en})
    for key in due:
        if not is_int(seen[key]):
            zh, en = f"`{key}` 不是 int。", f"`{key}` is not an int."
            return Broken(3, {"zh": zh, "en": en})
    if seen["logical_block"] != due["logical_block"]:
        zh = "`logical_block` 不是这个位置前面的满块数。"
        en = "`logical_block` is not the number of full blocks before the position."
        return Broken(1, {"zh": zh, "en": en})
    if seen["offset"] != due["offset"]:
        zh = "`offset` 不是这个位置在自己那块里的格数。"
        en = "`offset` is not the slot of the position in its own block."
        return Broken(1, {"zh": zh, "en": en})
    if seen["physical_block"] != due["physical_block"]:
        zh = "`physical_block` 不是块表里这个逻辑块的那一项。"
        en = "`physical_block` is not the table's entry of this logical block."
        return Broken(2, {"zh": zh, "en": en})
    return None


def engine_jobs() -> list[EngineJob]:
    """The default runs: the adapter fills a page table row by calling the function for each position.

    Any bijection of places gives the same tokens. So in the last, where pages come back in no order, those
    that are free at the end have to be free in the reference's order.
    """
    calls = [[P(0, 9), P(1, 3), P(2, 6)], [P(3, 9), P(4, 5)], [P(5, 11)]]
    scattered = EngineJob(
        name="pages in no order", calls=calls, page_size=4, slots=48, cache_type="naive", same_pages=True
    )
    return [*default_jobs(), scattered]


_RIGHT = reference(__file__)


MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "block_table[logical]", "sorted(block_table)[logical]"),
        zh="物理块不必有序，要按块表取。",
        en="Physical blocks are in no order: look them up in the block table.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, '"physical_block": physical', '"physical_block": physical * block_size + offset'),
        zh="应返回块号，偏移单独给出。",
        en="Return the block id; the offset stands apart.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "type(position) is not int", "not isinstance(position, int)"),
        zh="布尔值不是位置。",
        en="A bool is not a position.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "    if type(physical) is not int or physical < 0:\n", "    if physical is None:\n"),
        zh="取到的块号也要检查：-1 表示没有分配。",
        en="Check the block number found, too: -1 means that nothing is allocated.",
    ),
    Mutant(
        "e",
        instead(
            _RIGHT,
            "    if logical >= len(block_table):\n",
            "    if any(type(b) is not int or b < 0 for b in block_table):\n"
            "        raise ValueError\n"
            "    if logical >= len(block_table):\n",
        ),
        zh="只检查取到的那一项，别的项与这个位置无关。",
        en="Check the entry that is looked up; the others have nothing to do with this position.",
    ),
]
