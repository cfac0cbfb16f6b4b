"""Hidden tests of 192 `cache_req`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.cache_req import check_insert, check_request, check_uses, steps_of
from judge.authoring.cache_req_box import calls_of_cache_req
from judge.authoring.mutants import instead
from judge.authoring.ownership import Ownership
from judge.authoring.paged_pool import Plan, paged_pool, tokens
from judge.authoring.prefix_cache import PrefixCache
from judge.authoring.sentences import NO_RESULT
from judge.authoring.tensors import int32_raw
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("going_on", "独自，继续", "alone, going on"),
    Group("finished", "独自，结束", "alone, finished"),
    Group("duplicate", "同一前缀被别人先插入", "same prefix inserted meanwhile"),
    Group("long", "长提示，页大小 1、4、16", "long prompts, pages of 1, 4 and 16"),
    Group("any_order", "任意调用次序", "any order of calls"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 19 cases of one to six calls; every page size begins with the smallest lengths."""
    found: list[Case] = []

    def add(group: str, plan: Plan, size: int | None = None) -> None:
        data, known = paged_pool(rng, plan)
        found.append(Case(group, data, size, known))

    for plan in _alone(rng, finished=False):
        add("going_on", plan)
    for plan in _alone(rng, finished=True):
        add("finished", plan)
    for plan in _duplicates(rng):
        add("duplicate", plan)
    for size, length in ((1, 128), (4, 256), (16, 512)):
        add("long", _long(rng, size, length), length)
    for size in (rng.choice((1, 2)), 4):
        add("any_order", _any_order(rng, size))
    return found


def _alone(rng: random.Random, *, finished: bool) -> list[Plan]:
    """One request: one token, whole pages, a tail, a prefix that was cached before."""
    plans = []
    for size, length, hit in (
        (1, rng.choice((1, 2)), 0),
        (1, rng.randrange(3, 9), 2),
        (4, rng.randrange(1, 4), 0),
        (4, 4 * rng.randrange(2, 4) + rng.choice((0, rng.randrange(1, 4))), rng.choice((4, 8))),
    ):
        ids = tokens(rng, length)
        hit = min(hit, (length - 1) // size * size)
        before = [ids[:hit] + tokens(rng, size)] if hit else []
        plans.append(Plan(size, [ids], [(0, length, finished)], before))
    return plans


def _duplicates(rng: random.Random) -> list[Plan]:
    """Two requests that computed the same prefix, none, a part or all; the first goes on or is finished."""
    plans = []
    for size, common, rest, first_done, second_done in (
        (1, 3, 2, False, False),
        (1, 4, 0, True, False),
        (4, 6, 3, False, True),
        (4, rng.choice((8, 10)), 0, False, False),
    ):
        shared = tokens(rng, common)
        requests = [shared + tokens(rng, rest) for _ in range(2)]
        calls = [(0, common + rest, first_done), (1, common + rest, second_done)]
        plans.append(Plan(size, requests, calls))
    shared = tokens(rng, 14)  # the duplicate goes on, decodes and is finished after the other, or before it
    requests = [shared + tokens(rng, 5) for _ in range(2)]
    last = rng.sample([(0, 19, True), (1, 19, True)], 2)
    plans.append(Plan(4, requests, [(0, 14, False), (1, 14, False), *last]))
    before = tokens(rng, 4)  # the first page was cached before both, the next two are computed twice
    shared = before + tokens(rng, 9)
    plans.append(Plan(4, [shared, list(shared)], [(0, 13, False), (1, 13, False)], [before]))
    return plans


def _long(rng: random.Random, size: int, length: int) -> Plan:
    """A long prompt twice, its first half cached before."""
    ids = tokens(rng, length + size // 2)
    return Plan(size, [ids, list(ids)], [(0, len(ids), False), (1, len(ids), False)], [ids[: length // 2]])


def _any_order(rng: random.Random, size: int) -> Plan:
    """Three requests of one family, each called once or twice, interleaved at random."""
    family = tokens(rng, 4 * size)
    requests, queues = [], []
    for number in range(3):
        common = rng.randrange(size, 4 * size + 1)
        ids = family[:common] + tokens(rng, rng.randrange(1, 3 * size + 3))
        stops = sorted(rng.sample(range(1, len(ids) + 1), min(len(ids), rng.randrange(1, 3))))
        done = rng.random() < 0.7
        ids = ids[: stops[-1]]
        requests.append(ids)
        queues.append([(number, stop, done and stop == stops[-1]) for stop in stops])
    calls = []
    while waiting := [queue for queue in queues if queue]:
        calls.append(rng.choice(waiting).pop(0))
    before = [family[: rng.randrange(1, 4) * size]] if rng.random() < 0.7 else []
    return Plan(size, requests, calls, before)


def trusted(case: Case) -> PrefixCache:
    """The prefix cache as the requests found it, each with its own prefix locked."""
    return PrefixCache(case.data["page_size"], *case.outside)


# --- In the box -----------------------------------------------------------------------------------


DRIVE_USES = [calls_of_cache_req]


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """After each call table, free slots, handle, its length, cached_len, how the cache was used."""
    for _, _, left in calls_of_cache_req(target, case, io):
        io.emit(left)


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Call by call: first what the cache was asked, then pages and rows, then the request itself."""
    rows, calls = case.data["rows"], zip(case.data["calls"], case.data["finished"], strict=True)
    steps, due_steps = steps_of(got[:-1]), steps_of(expected[:-1])
    if steps is None or due_steps is None or len(steps) != len(due_steps):
        return Broken(1, NO_RESULT)
    owners = Ownership(
        page_size=case.data["page_size"],
        reading={rows[number]: case.data["lengths"][i] for i, number in enumerate(case.data["calls"])},
        cached={place for prefix in case.outside.cached for place in int32_raw(prefix.locations).tolist()},
        row_rule=3,
        page_rule=4,
    )
    handles = list(range(len(rows)))
    for number, (request, finished) in enumerate(calls):
        due, step = due_steps[number], steps[number]
        broken = check_uses(step, handles[request], due.handles("lock"), finished)
        if broken := broken or check_insert(expected[-1][number], got[-1][number : number + 1]):
            return broken
        handles[request] = due.state[2]
        owners.cached.update(expected[-1][number][1].tolist())
        if finished:
            del owners.reading[rows[request]]
        broken = owners.check((due.state[0], due.state[1]), step.state[0], step.state[1])
        if broken := broken or check_request(due.state, step.state, finished):
            return broken
    return None


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """The default runs; identical prompts in one batch; a pool so tight that freed pages are taken at once.

    In the last, the third request comes in only when the second has given its copy back, and both grow into
    that copy while the second still decodes.
    """
    twins = [[P(0, 8), P(0, 8)], [P(1, 10), P(1, 10), P(1, 10)]]
    tight = [[P(0, 16), P(0, 16), P(2, 10)]]
    return [
        *default_jobs(),
        EngineJob(name="identical prompts", calls=twins, slots=64),
        EngineJob(name="freed pages get new owners, page size 1", calls=tight, slots=48),
        EngineJob(name="freed pages get new owners, page size 4", calls=tight, page_size=4, slots=60),
    ]


_RIGHT = """\
def cache_req(self, req, *, finished):
    row = self.page_table[req.table_idx]
    old, end = req.cache_handle, req.cached_len
    cached_len, new = self.prefix_cache.insert_prefix(req.input_ids[:end], row[:end].clone())
    self.unlock(old)
    copy = row[old.cached_len:cached_len].clone()
    if not finished:
        row[old.cached_len:cached_len] = new.get_matched_indices()[old.cached_len:cached_len]
        req.cache_handle = new
        self.lock(new)
    self._free(copy)
    if finished:
        self._free(row[new.cached_len:end])
"""
_REMAP = "        row[old.cached_len:cached_len] = new.get_matched_indices()[old.cached_len:cached_len]\n"

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "    self._free(copy)\n", ""),
        zh="自己算的那一份没有归还，这些页没有主人了。",
        en="The request's own copy of B is not given back, and has no owner now.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "    if finished:\n        self._free(row", "    if True:\n        self._free(row"),
        zh="请求还要继续，尾页却归还了：它还要往那里写。",
        en="The tail is given back although the request goes on and still writes there.",
    ),
    Mutant(
        "c",
        instead(
            instead(_RIGHT, "    self.unlock(old)\n", ""),
            "    cached_len, new",
            "    self.unlock(old)\n    cached_len, new",
        ),
        zh="插入之前就解了锁，旧前缀可能被淘汰。",
        en="`old` is unlocked before the insertion, so it may be evicted.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "        self.lock(new)\n", ""),
        zh="新句柄没有上锁，还在用的 KV 可能被淘汰。",
        en="`new` is not locked, so KV in use may be evicted.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, _REMAP, ""),
        zh="页表行仍指向刚释放的页。",
        en="The row still points at the pages just freed.",
    ),
    Mutant(
        "f",
        instead(
            instead(_RIGHT, "    copy = row[old.cached_len:cached_len].clone()\n", ""),
            "self._free(copy)",
            "self._free(row[old.cached_len:cached_len])",
        ),
        zh="切片是视图：改写行之后再释放，释放的是缓存的页。",
        en="A slice is a view: freed after the row is rewritten, it frees the cache's pages.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "        self._free(row[new.cached_len:end])\n", "        pass\n"),
        zh="请求结束，不满一页的尾巴没有归还。",
        en="The request is finished, and its tail that fills no page is not given back.",
    ),
    Mutant(
        "h",
        instead(
            _RIGHT,
            "new.get_matched_indices()[old.cached_len:cached_len]",
            "new.get_matched_indices()[: cached_len - old.cached_len]",
        ),
        zh="应取 `[old.cached_len, cached_len)`，不是句柄的前几项。",
        en="Take [old.cached_len, cached_len) of the handle, not its first entries.",
    ),
    Mutant(
        "i",
        instead(_RIGHT, "    self._free(copy)\n", "    self._free(row[:cached_len] if finished else copy)\n"),
        zh="`[0, old.cached_len)` 属于缓存，不能归还。",
        en="`[0, old.cached_len)` belongs to the cache: it is not yours to free.",
    ),
]
