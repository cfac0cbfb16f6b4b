"""Hidden tests of 196 `radix_split`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, is_int, outcome
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("fork", "从中间分叉", "a fork in the middle"),
    Group("ends", "从头就不同，或者一串用完", "nothing in common, or one run used up"),
    Group("pages", "页大小大于 1", "pages of more than one token"),
    Group("locks", "正在使用的边", "edges in use"),
    Group("bad_values", "无效的数值", "values that make no sense"),
]


def cases(rng: random.Random) -> list[Case]:
    """About 45 calls: common parts from nothing to everything, page sizes 1 to 16, locks 0 to 3."""
    found: list[Case] = []

    def add(group: str, edge: list[Any], query: list[Any], *rest: Any) -> None:
        found.append(Case(group, {"args": [edge, query, *rest]}))

    for common in (1, 2, rng.randrange(3, 9), rng.randrange(9, 30)):
        add("fork", *_pair(rng, common, rng.randrange(1, 6), rng.randrange(1, 6)))
        add("fork", *_pair(rng, common, rng.randrange(1, 6), rng.randrange(1, 6)), 1, 0)
    again = _pair(rng, 3, 4, 4)
    again[1][4:] = again[0][4:]  # the runs meet again after the fork
    add("fork", *again)
    for edge_rest, query_rest in ((0, 0), (0, 3), (3, 0), (2, 2)):
        add("ends", *_pair(rng, 0, edge_rest, query_rest))
        add("ends", *_pair(rng, rng.randrange(2, 7), edge_rest, query_rest))
        add("ends", *_pair(rng, 4, edge_rest, query_rest), 4)
    for size in (2, 3, 4, 16):
        pages = rng.randrange(1, 4)
        for extra in (0, 1, size - 1):
            common = pages * size + extra
            add("pages", *_pair(rng, common, rng.randrange(1, 9), rng.randrange(1, 9)), size)
        add("pages", *_pair(rng, size - 1, rng.randrange(1, 9), rng.randrange(1, 9)), size)
        add("pages", *_pair(rng, pages * size + 1, 0, rng.randrange(1, 9)), size)
    for locks in (1, 2, 3):
        add("locks", *_pair(rng, rng.randrange(2, 9), 3, 2), 1, locks)
        add("locks", *_pair(rng, 6, rng.randrange(1, 9), 2), 4, locks)
        add("locks", *_pair(rng, 0, 2, 2), 1, locks)
    edge, query = _pair(rng, 2, 2, 2)
    for size in (0, -2, True, 2.0, "2", None):
        add("bad_values", edge, query, size)
    for locks in (-1, True, 1.0, None):
        add("bad_values", edge, query, 1, locks)
    for token in (-1, True, 3.0, "3", None):
        add("bad_values", [*edge, token], query)
        add("bad_values", edge, [*query, token])
    add("bad_values", [-1, 2], [1, 2])
    add("bad_values", [], [False])
    return found


def _pair(rng: random.Random, common: int, edge_rest: int, query_rest: int) -> list[list[int]]:
    """An edge and a query with exactly ``common`` first tokens in common; token 0 occurs."""
    start = [rng.randrange(500) for _ in range(common)]
    edge = [rng.randrange(500) for _ in range(edge_rest)]
    query = [rng.randrange(500) for _ in range(query_rest)]
    if edge and query:
        edge[0], query[0] = rng.sample(range(500), 2)
    return [start + edge, start + query]


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, which parts are no lists, then the two lists."""
    outcome = io.attempt(target, *case["args"])
    value = outcome.get("value")
    parts = value if isinstance(value, dict) else {}
    io.emit(outcome)
    # a tuple goes over the wire as a list
    io.emit([key for key in ("prefix", "old_suffix", "new_suffix") if isinstance(parts.get(key), tuple)])
    io.emit(case["args"][:2])


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors first, then the cut, the parts, the locks, the inputs."""
    if len(got) != len(expected):
        return Broken(1, NO_RESULT)
    if text := outcome(expected[0], got[0]):
        error = got[0].get("error") if isinstance(got[0], dict) else None
        return Broken(1 if "value" in expected[0] and error != "ValueError" else 5, text)
    if "value" in expected[0]:
        broken = _check_value(expected[0]["value"], got[0]["value"]) or _check_lists(got[1])
        if broken:
            return broken
    if not same(expected[2], got[2]):
        zh, en = "调用之后输入的列表变了。", "An input list is changed after the call."
        return Broken(6, {"zh": zh, "en": en})
    return None


_PARTS = {
    "prefix": (2, "`prefix` 不是边在切口之前的部分。", "`prefix` is not the edge up to the cut."),
    "old_suffix": (
        2,
        "`old_suffix` 不是边在切口之后的全部。",
        "`old_suffix` is not all of the edge after the cut.",
    ),
    "new_suffix": (
        3,
        "`new_suffix` 不是查询在切口之后的全部；不满一页的 token 也归它。",
        "`new_suffix` is not all of the query after the cut; tokens that fill no page belong to it, too.",
    ),
    "prefix_lock_ref": (
        4,
        "共享结点的锁计数与原来的结点不同：少了，锁着这条边的请求会失去它；多了，它再也淘汰不掉。",
        "The shared node's lock count is not the old node's: with fewer, whoever holds the edge locked loses"
        " it; with more, it can never be evicted.",
    ),
}


def _check_value(due: dict[str, Any], seen: Any) -> Broken | None:
    if not isinstance(seen, dict) or set(seen) != set(due):
        keys = "matched_tokens, prefix, old_suffix, new_suffix, prefix_lock_ref"
        zh, en = (
            f"返回的不是恰好有这些键的字典：{keys}。",
            f"The result is not a dict with exactly the keys {keys}.",
        )
        return Broken(1, {"zh": zh, "en": en})
    cut = seen["matched_tokens"]
    if not is_int(cut):
        return Broken(1, {"zh": "`matched_tokens` 不是 int。", "en": "`matched_tokens` is not an int."})
    if cut > due["matched_tokens"]:
        zh = "切口落在页的中间，或者越过了第一个不同的 token。"
        en = "The cut falls inside a page, or past the first token that differs."
        return Broken(1, {"zh": zh, "en": en})
    if cut < due["matched_tokens"]:
        zh, en = "有整页相同，却没有共享。", "A whole page is equal, and yet it is not shared."
        return Broken(1, {"zh": zh, "en": en})
    for key, (rule, zh, en) in _PARTS.items():
        if not same(due[key], seen[key]):
            return Broken(rule, {"zh": zh, "en": en})
    return None


def _check_lists(tuples: Any) -> Broken | None:
    if tuples == []:
        return None
    key = next((key for key in _PARTS if isinstance(tuples, list) and key in tuples), "prefix")
    zh, en = f"`{key}` 是元组，应当是列表。", f"`{key}` is a tuple; a list is due."
    return Broken(_PARTS[key][0], {"zh": zh, "en": en})


def engine_jobs() -> list[EngineJob]:
    """The default runs, and two prompts with one prefix in a batch: their edge forks while it is locked."""
    pair = [P(0, 10) + P(1, 14), P(0, 10) + P(2, 14)]
    return [*default_jobs(), EngineJob(name="an edge in use forks", calls=[pair, pair], page_size=4)]


_RIGHT = reference(__file__)


MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, '"prefix_lock_ref": lock_ref', '"prefix_lock_ref": 0'),
        zh="共享结点也有请求正在用，应继承锁计数。",
        en="A running request uses the shared node, too: it inherits the lock count.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "shared = common // page_size * page_size", "shared = common"),
        zh="只能共享整页。",
        en="Only whole pages are shared.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, '"new_suffix": query_tokens[shared:]', '"new_suffix": query_tokens[common:]'),
        zh="相同但不满一页的那几个 token 要归入 new_suffix。",
        en="The equal tokens that fill no page belong to new_suffix.",
    ),
    Mutant(
        "d",
        instead(
            _RIGHT,
            "    while common < min(len(edge_tokens), len(query_tokens))"
            " and edge_tokens[common] == query_tokens[common]:\n"
            "        common += 1\n",
            "    for mine, other in zip(edge_tokens, query_tokens):\n        common += mine == other\n",
        ),
        zh="公共前缀到第一个不同的 token 为止，后面再相同也不算。",
        en="The common prefix ends at the first token that differs; what is equal after it does not count.",
    ),
]
