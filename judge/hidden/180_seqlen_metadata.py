"""Hidden tests of 180 `seqlen_metadata`."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, outcome
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("one", "一个请求", "one request"),
    Group("decodes", "全在解码", "all decode"),
    Group("mixed", "有的从头算，有的命中，有的解码", "from scratch, behind a hit, decoding"),
    Group("nothing", "有请求什么也不算", "a request computes nothing"),
]
_NAMES = ("cu_seqlens_q", "cache_seqlens", "last_indices")


def cases(rng: random.Random) -> list[Case]:
    """About 28 batches of one to nine requests."""
    found: list[Case] = []

    def add(group: str, ranges: list[tuple[int, int]]) -> None:
        found.append(Case(group, {"reqs": [list(one) for one in ranges]}))

    def drawn() -> tuple[int, int]:
        cached = rng.choice((0, rng.randrange(1, 40)))
        return cached, cached + rng.choice((1, rng.randrange(2, 12)))

    for ranges in ([(0, 1)], [(0, 6)], [(4, 7)], [(8, 9)], [(rng.randrange(1, 90), 100)]):
        add("one", ranges)
    add("decodes", [(1, 2), (8, 9)])
    for _ in range(5):
        starts = [rng.randrange(1, 90) for _ in range(rng.randrange(2, 8))]
        add("decodes", [(start, start + 1) for start in starts])
    add("mixed", [(0, 2), (0, 1)])
    add("mixed", [(8, 9), (0, 3), (2, 4)])
    for _ in range(8):
        batch = [(0, rng.randrange(2, 9)), (rng.randrange(1, 20), 24), *(drawn() for _ in range(5))]
        rng.shuffle(batch)
        add("mixed", batch[: rng.randrange(3, 8)])
    add("nothing", [(3, 3)])
    add("nothing", [(0, 0), (0, 2)])
    add("nothing", [(0, 4), (6, 6), (7, 8)])
    add("nothing", [(0, 4), (3, 5), (9, 9)])
    add("nothing", [(5, 4), (0, 3)])
    for _ in range(2):
        batch = [(0, rng.randrange(2, 9)), (rng.randrange(1, 20), 24), (7, 7)]
        rng.shuffle(batch)
        add("nothing", batch)
    return found


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the requests."""
    reqs = [
        io.obj(uid=uid, table_idx=uid, cached_len=start, device_len=end, extend_len=end - start)
        for uid, (start, end) in enumerate(case["reqs"])
    ]
    io.emit(io.attempt(target, reqs))
    io.emit([[req.cached_len, req.device_len, req.extend_len] for req in reqs])


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors and types first, then each of the three tensors, then the requests."""
    if len(got) != len(expected):
        return Broken(1, NO_RESULT)
    if text := outcome(expected[0], got[0]):
        return Broken(1 if "value" in expected[0] else 5, text)
    broken = None
    if "value" in expected[0]:
        due, seen = expected[0]["value"], got[0]["value"]
        broken = _check_types(due, seen) or _check_numbers(case.data["reqs"], due, seen)
    if broken is None and not same(expected[1], got[1]):
        return Broken(6, {"zh": "调用之后请求变了。", "en": "A request is changed after the call."})
    return broken


def _check_types(due: list[TensorData], seen: Any) -> Broken | None:
    if not isinstance(seen, list) or len(seen) != 3 or not all(isinstance(one, TensorData) for one in seen):
        zh, en = "返回的不是三个张量。", "What is returned is not three tensors."
        return Broken(1, {"zh": zh, "en": en})
    for name, right, mine in zip(_NAMES, due, seen, strict=True):
        if mine.dtype != right.dtype:
            zh = f"`{name}` 应当是 {right.dtype}。"
            en = f"`{name}` is to be {right.dtype}."
            return Broken(1, {"zh": zh, "en": en})
        if mine.shape != right.shape:
            size = "[B + 1]" if name == "cu_seqlens_q" else "[B]"
            zh = f"`{name}` 的形状不是 `{size}`。"
            en = f"`{name}` does not have the shape `{size}`."
            return Broken(1, {"zh": zh, "en": en})
    return None


def _check_numbers(ranges: list[list[int]], due: list[TensorData], seen: list[TensorData]) -> Broken | None:
    cu, keys, last = (one.tolist() for one in seen)
    right_cu, right_keys, right_last = (one.tolist() for one in due)
    if cu != right_cu:
        if cu[0] != 0:
            zh, en = "`cu_seqlens_q` 不是从 0 开始。", "`cu_seqlens_q` does not begin with 0."
        elif [b - a for a, b in pairwise(cu)] == [end for _, end in ranges]:
            zh = "`cu_seqlens_q` 累加的是 `device_len`：缓存里的 token 在这一行里没有格子。"
            en = "`cu_seqlens_q` adds up `device_len`: tokens in the cache have no cell in the row."
        else:
            zh = "`cu_seqlens_q` 不是 `extend_len` 的前缀和。"
            en = "`cu_seqlens_q` does not hold the prefix sums of `extend_len`."
        return Broken(2, {"zh": zh, "en": en})
    if keys != right_keys:
        if keys == [start for start, _ in ranges]:
            zh = "`cache_seqlens` 里没有算上这一步的 token。"
            en = "`cache_seqlens` leaves out the tokens of this step."
        else:
            zh, en = (
                "`cache_seqlens` 不是各请求的 `device_len`。",
                "`cache_seqlens` is not each `device_len`.",
            )
        return Broken(3, {"zh": zh, "en": en})
    if last != right_last:
        if last == right_cu[:-1]:
            zh, en = (
                "`last_indices` 指着每个请求的第一个查询。",
                "`last_indices` points at each first query.",
            )
        elif last == right_cu[1:]:
            zh = "`last_indices` 都大了 1，指着下一个请求的查询。"
            en = "`last_indices` is 1 too large everywhere, and points at the next request's query."
        elif last == [count - 1 for count in right_keys]:
            zh = "`last_indices` 是在各自序列里的位置，不是在这一行里的下标。"
            en = "`last_indices` holds positions in each sequence, not indices in the row."
        else:
            zh, en = "`last_indices` 不对。", "`last_indices` is wrong."
        return Broken(4, {"zh": zh, "en": en})
    return None


def engine_jobs() -> list[EngineJob]:
    """The default runs, and prompts that hit prefixes of different lengths in one batch."""
    first, then = [P(0, 30)], [P(0, 8) + P(1, 5), P(0, 20) + P(2, 2), P(3, 6)]
    return [*default_jobs(), EngineJob(name="hits of different lengths", calls=[first, then])]


_RIGHT = """\
from itertools import accumulate

import torch


def seqlen_metadata(reqs):
    lengths = [req.extend_len for req in reqs]
    if min(lengths) < 1:
        raise ValueError("nothing to compute")
    cu = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)
    keys = torch.tensor([req.device_len for req in reqs], dtype=torch.int32)
    return cu, keys, cu[1:].long() - 1
"""

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "accumulate(lengths)", "accumulate(req.device_len for req in reqs)"),
        zh="查询是 extend_len 那么长：已在缓存里的 token 不再算，行里没有它们。",
        en="Queries are extend_len long: what is cached is not computed again, and is not in the row.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "cu[1:].long() - 1", "cu[:-1].long()"),
        zh="这是每个请求的第一个查询，不是最后一个。",
        en="That is each request's first query, not its last.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "if min(lengths) < 1:\n        raise", "if not lengths:\n        raise"),
        zh="空请求没有查询，它的“最后一个”会取到邻居的位置。",
        en="A request without queries has no last one: its “last” belongs to its neighbour.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "[0, *accumulate(lengths)]", "[*accumulate(lengths)]").replace("cu[1:]", "cu"),
        zh="前缀和前面要有一个 0：第一个请求也有起点，B 个请求有 B + 1 个边界。",
        en="A 0 goes in front: the first request begins somewhere, too. B requests have B + 1 boundaries.",
    ),
    Mutant(
        "e",
        instead(
            _RIGHT,
            "torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)",
            "torch.tensor([0, *lengths], dtype=torch.int32).cumsum(0)",
        ),
        zh="对 int32 求 cumsum 得到 int64；内核要的是 int32，要转回来。",
        en="cumsum of int32 gives int64; kernels want int32, so turn it back.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "[req.device_len for", "[req.cached_len for"),
        zh="这一步的 K、V 先存后读，所以键数是 device_len，不是 cached_len。",
        en="This step's K and V are stored before they are read: the keys are device_len, not cached_len.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "cu[1:].long() - 1", "keys.long() - 1"),
        zh="要的是在这一行里的下标；device_len - 1 是在自己序列里的位置。",
        en="An index in the row is due; device_len - 1 is the position in its own sequence.",
    ),
]
