"""Hidden tests of 165 `flat_positions`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import broken_end
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("prefill", "什么也没有命中", "nothing is hit"),
    Group("hits", "命中前缀", "prefixes are hit"),
    Group("decodes", "全在解码", "all decode"),
    Group("mixed", "任意的一批，也可能是空的", "any batch, an empty one too"),
]


def cases(rng: random.Random) -> list[Case]:
    """About 25 batches of none to nine requests; rows are in no order."""
    found: list[Case] = []

    def add(group: str, ranges: list[tuple[int, int]]) -> None:
        rows = rng.sample(range(20), len(ranges))
        if len(rows) > 1 and rows == sorted(rows):
            rows.reverse()
        found.append(Case(group, {"reqs": [[row, *one] for row, one in zip(rows, ranges, strict=True)]}))

    def drawn(kind: str) -> tuple[int, int]:
        start = {"prefill": 0, "hits": rng.randrange(1, 40), "decodes": rng.randrange(1, 90)}[kind]
        return start, start + (1 if kind == "decodes" else rng.randrange(1, 12))

    add("prefill", [(0, 1)])
    add("prefill", [(0, 3), (0, 1)])
    add("hits", [(1, 2)])
    add("hits", [(0, 3), (4, 5)])
    add("hits", [(4, 8), (1, 2), (4, 6)])
    add("decodes", [(1, 2)])
    add("decodes", [(9, 10), (1, 2)])
    for kind in ("prefill", "hits", "decodes"):
        for _ in range(4):
            add(kind, [drawn(kind) for _ in range(rng.randrange(2, 7))])
    add("mixed", [])
    add("mixed", [(0, 3), (5, 5), (2, 4)])  # one that computes nothing now
    for _ in range(6):
        kinds = rng.choices(("prefill", "hits", "decodes"), k=rng.randrange(3, 10))
        add("mixed", [drawn(kind) for kind in kinds])
    return found


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the requests."""
    reqs = [
        io.obj(uid=uid, table_idx=row, cached_len=start, device_len=end, extend_len=end - start)
        for uid, (row, start, end) in enumerate(case["reqs"])
    ]
    io.emit(io.attempt(target, reqs))
    io.emit([[req.table_idx, req.cached_len, req.device_len, req.extend_len] for req in reqs])


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors and types first, then how many, then which positions, then rows and order."""
    if broken := broken_end(expected, got, 1):
        return broken
    due, seen = expected[0]["value"], got[0]["value"]
    broken = _check_types(due, seen) or _check_entries(due[0].tolist(), due[1].tolist(), seen)
    if broken is None and not same(expected[1], got[1]):
        return Broken(5, {"zh": "调用之后请求变了。", "en": "A request is changed after the call."})
    return broken


def _check_types(due: list[TensorData], seen: Any) -> Broken | None:
    if not isinstance(seen, list) or len(seen) != 2 or not all(isinstance(one, TensorData) for one in seen):
        zh, en = (
            "返回的不是 `rows` 和 `positions` 两个张量。",
            "What is returned is not `rows` and `positions`.",
        )
        return Broken(1, {"zh": zh, "en": en})
    for name, right, mine in zip(("rows", "positions"), due, seen, strict=True):
        if mine.dtype != right.dtype or len(mine.shape) != 1:
            zh = f"`{name}` 不是一维的 {right.dtype} 张量。"
            en = f"`{name}` is not a tensor [N] of {right.dtype}."
            return Broken(1 if right.shape[0] else 5, {"zh": zh, "en": en})
    return None


def _check_entries(rows: list[int], positions: list[int], seen: list[TensorData]) -> Broken | None:
    my_rows, my_positions = seen[0].tolist(), seen[1].tolist()
    if my_rows == rows and my_positions == positions:
        return None
    if len(my_positions) != len(positions):
        zh, en = ("少", "fewer") if len(my_positions) < len(positions) else ("多", "more")
        zh, en = f"位置比这次要算的 token {zh}。", f"There are {en} positions than tokens to compute."
        return Broken(2, {"zh": zh, "en": en})
    if len(my_rows) != len(rows):
        zh = "`rows` 和 `positions` 不一样长：行号重复的次数不是 `extend_len`。"
        en = "`rows` and `positions` differ in length: a row is not repeated `extend_len` times."
        return Broken(3, {"zh": zh, "en": en})
    if sorted(zip(my_rows, my_positions, strict=True)) == sorted(zip(rows, positions, strict=True)):
        zh, en = "token 的次序不是请求在列表里的次序。", "The tokens are not in the order of the requests."
        return Broken(4, {"zh": zh, "en": en})
    if sorted(my_positions) != sorted(positions):
        zh = "有请求的位置不是从 `cached_len` 到 `device_len - 1`。"
        en = "A request's positions are not those from `cached_len` to `device_len - 1`."
        return Broken(2, {"zh": zh, "en": en})
    zh, en = "有位置配上了别的请求的行。", "A position has the row of another request."
    return Broken(3, {"zh": zh, "en": en})


def engine_jobs() -> list[EngineJob]:
    """The default runs, and prompts that hit prefixes of different lengths in one batch."""
    first, then = [P(0, 30)], [P(0, 8) + P(1, 5), P(0, 20) + P(2, 2), P(3, 6)]
    return [*default_jobs(), EngineJob(name="hits of different lengths", calls=[first, then])]


_RIGHT = """\
import torch


def flat_positions(reqs):
    rows = [req.table_idx for req in reqs for _ in range(req.extend_len)]
    positions = [p for req in reqs for p in range(req.cached_len, req.device_len)]
    return torch.tensor(rows, dtype=torch.int64), torch.tensor(positions, dtype=torch.int32)
"""

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "range(req.cached_len, req.device_len)", "range(req.extend_len)"),
        zh="命中前缀后位置从 cached_len 开始，不是从 0。",
        en="Behind a hit, positions start at cached_len, not at 0.",
    ),
    Mutant(
        "b",
        instead(
            instead(_RIGHT, "range(req.extend_len)", "range(req.extend_len + 1)"),
            "range(req.cached_len, req.device_len)",
            "range(req.cached_len, req.device_len + 1)",
        ),
        zh="device_len 是还不知道的那个位置，不在本步范围内。",
        en="device_len is the first position not in this step: its token is not known yet.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "range(req.extend_len)", "range(req.device_len)"),
        zh="本步只算 extend_len 个 token，行号也只重复这么多次。",
        en="Only extend_len tokens run now, so a row is repeated just as often.",
    ),
    Mutant(
        "d",
        _RIGHT.replace("in reqs", "in sorted(reqs, key=lambda req: req.table_idx)"),
        zh="次序是列表的次序：别的张量都按它排，不按行号。",
        en="The order is the list's: all other tensors are in it, none is by row.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, ", dtype=torch.int64", "").replace(", dtype=torch.int32", ", dtype=torch.int64"),
        zh="位置要 int32；空列表不写 dtype 会变成 float32。",
        en="Positions are int32; and without a dtype an empty list becomes float32.",
    ),
    Mutant(
        "f",
        instead(
            _RIGHT,
            "[p for req in reqs for p in range(req.cached_len, req.device_len)]",
            "list(range(len(rows)))",
        ),
        zh="每个请求有自己的位置，不能接着前一个请求往下数。",
        en="Each request has positions of its own: do not go on counting from the one before.",
    ),
]
