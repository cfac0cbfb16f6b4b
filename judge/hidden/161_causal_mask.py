"""Hidden tests of 161 `causal_mask`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, outcome
from judge.jobs import P
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("decode", "一个查询", "one query"),
    Group("cached", "缓存里有一部分", "a part is cached"),
    Group("square", "没有缓存", "nothing is cached"),
    Group("bad_counts", "无效的个数", "counts that make no sense"),
]


def cases(rng: random.Random) -> list[Case]:
    """About 28 calls, from one query and one key to forty keys."""
    found: list[Case] = []

    def add(group: str, n_query: int, n_key: int) -> None:
        found.append(Case(group, {"n_query": n_query, "n_key": n_key}))

    for n_key in (2, 3, 7, rng.randrange(8, 40)):
        add("decode", 1, n_key)
    for n_query, n_key in ((2, 3), (2, 4), (3, 4), (5, 6)):
        add("cached", n_query, n_key)
    for _ in range(5):
        n_query = rng.randrange(2, 12)
        add("cached", n_query, n_query + rng.randrange(1, 28))
    for size in (1, 2, 3, rng.randrange(4, 30)):
        add("square", size, size)
    for n_query, n_key in ((0, 0), (0, 4), (-1, 3), (-3, -2), (1, 0), (2, 1), (4, 3), (5, 0)):
        add("bad_counts", n_query, n_key)
    add("bad_counts", rng.randrange(5, 20), rng.randrange(1, 5))
    return found


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call: the mask, or what it raised."""
    io.emit(io.attempt(target, case["n_query"], case["n_key"]))


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors first, then type and shape, then who sees whom."""
    if len(got) != len(expected):
        return Broken(1, NO_RESULT)
    if text := outcome(expected[0], got[0]):
        return Broken(1 if "value" in expected[0] else 4, text)
    if "value" not in expected[0]:
        return None
    due, seen = expected[0]["value"], got[0]["value"]
    if not isinstance(seen, TensorData) or seen.dtype != "bool" or seen.shape != due.shape:
        zh = "返回的不是形状 `[n_query, n_key]` 的 bool 张量。"
        en = "What is returned is not a bool tensor of shape `[n_query, n_key]`."
        return Broken(1, {"zh": zh, "en": en})
    return _check_mask(due.tolist(), seen.tolist())


def _check_mask(due: list[list[bool]], seen: list[list[bool]]) -> Broken | None:
    if seen == due:
        return None
    if seen == [[not one for one in row] for row in due]:
        zh, en = "`True` 和 `False` 正好反了。", "`True` and `False` are just the other way round."
        return Broken(1, {"zh": zh, "en": en})
    if seen == [[key <= row for key in range(len(due[0]))] for row in range(len(due))]:
        zh = "第 `r` 行看到的是前 `r + 1` 个键：查询被当成了最前面的位置。"
        en = "Row `r` sees the first `r + 1` keys: the queries are taken for the first positions."
        return Broken(2, {"zh": zh, "en": en})
    offset = len(due[0]) - len(due)
    if any(not row[offset + number] for number, row in enumerate(seen)):
        zh, en = "有一个查询看不见自己。", "A query does not see itself."
        return Broken(3, {"zh": zh, "en": en})
    if any(seen[r][k] and not due[r][k] for r in range(len(due)) for k in range(len(due[0]))):
        zh, en = "有一个查询看得见它之后的键。", "A query sees a key that comes after it."
        return Broken(3, {"zh": zh, "en": en})
    zh, en = "有一个查询看不见它之前的键。", "A query does not see a key before it."
    return Broken(3, {"zh": zh, "en": en})


def engine_jobs() -> list[EngineJob]:
    """The one-file engine: a prompt's first token sees itself alone, and each new token all before it."""
    return [EngineJob(name="three prompts", calls=[[P(0, 5), P(1, 9), P(2, 1)], [P(3, 30)]])]


_RIGHT = reference(__file__)

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "torch.arange(n_key - n_query, n_key)", "torch.arange(n_query)"),
        zh="新查询是最后几个位置，要右下对齐。",
        en="New queries are the last positions: align at the bottom right.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "<= positions[:, None]", "< positions[:, None]"),
        zh="每个 token 必须能看到自己。",
        en="A token must see itself.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "<= positions[:, None]", "> positions[:, None]"),
        zh="这里 `True` 表示可见，不是表示挡住。",
        en="`True` means here that a key may be seen, not that it is hidden.",
    ),
    Mutant(
        "d",
        instead(
            _RIGHT,
            "return torch.arange(n_key) <= positions[:, None]",
            "hidden = torch.arange(n_key) > positions[:, None]\n"
            "    return torch.zeros(n_query, n_key).masked_fill(hidden, float('-inf'))",
        ),
        zh="要的是 bool 掩码，不是加到分数上的 0 和负无穷。",
        en="A bool mask is due, not the 0 and minus infinity that are added to scores.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, "n_query < 1 or n_key < n_query", "n_query < 0 or n_key < 0"),
        zh="没有查询，或者键比查询少，都是错误：torch 不会替你拦住。",
        en="No query, or fewer keys than queries, is an error, and torch does not stop it for you.",
    ),
]
