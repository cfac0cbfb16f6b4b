"""Hidden tests of 195 `stale_row`: 192's contract, and what every row reads once others have written."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from judge.authoring.cache_req import Step, check_insert, check_request, check_uses, steps_of
from judge.authoring.cache_req_box import calls_of_cache_req
from judge.authoring.mutants import instead
from judge.authoring.ownership import Ownership
from judge.authoring.paged_pool import Plan, paged_pool, tokens
from judge.authoring.prefix_cache import PrefixCache
from judge.authoring.sentences import NO_RESULT, is_int
from judge.authoring.tensors import int32_raw
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("twins", "一模一样的提示", "identical prompts"),
    Group("parts", "只有开头一样", "prompts that begin alike"),
    Group("hits", "开头一段早已命中", "behind a prefix that was hit"),
    Group("long", "长提示，页大小 1、4、16", "long prompts, pages of 1, 4 and 16"),
    Group("to_the_end", "继续到结束，次序任意", "until all are finished, in any order"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 23 cases; in each, somebody who goes on has computed what another one had inserted."""
    found: list[Case] = []

    def add(group: str, plan: Plan, size: int | None = None) -> None:
        data, known = paged_pool(rng, plan)
        found.append(Case(group, data, size, known))

    for size, length in ((1, 1), (1, rng.randrange(2, 9)), (4, 4), (4, rng.randrange(5, 16)), (16, 16)):
        ids = tokens(rng, length)
        add("twins", Plan(size, [ids, list(ids)], _going_on([length, length])))
    ids = tokens(rng, 9)
    add("twins", Plan(4, [list(ids) for _ in range(3)], _going_on([9, 9, 9])))
    for size, common in ((1, 3), (2, 5), (4, 6), (4, rng.randrange(8, 14))):
        add("parts", _family(rng, size, common, []))
    for size, hit, common in ((1, 2, 5), (1, 1, 2), (4, 4, 9), (4, 8, 16), (16, 16, 40)):
        before = tokens(rng, hit)
        add("hits", _family(rng, size, common, before))
    for size, length in ((1, 128), (4, 256), (16, 512)):
        ids = tokens(rng, length + size // 2)
        plan = Plan(size, [ids, list(ids)], _going_on([len(ids)] * 2), [ids[: length // 2]])
        add("long", plan, length)
    for size in (1, 1, 4, 4, 4):
        add("to_the_end", _to_the_end(rng, size))
    return found


def _going_on(lengths: list[int]) -> list[tuple[int, int, bool]]:
    return [(number, length, False) for number, length in enumerate(lengths)]


def _family(rng: random.Random, size: int, common: int, before: list[int]) -> Plan:
    """Three requests that begin alike, the first ``before`` tokens cached before all of them."""
    shared = before + tokens(rng, common - len(before))
    requests = [shared + tokens(rng, rng.randrange(0 if number else 1, 2 * size + 1)) for number in range(3)]
    return Plan(size, requests, _going_on([len(ids) for ids in requests]), [before] if before else [])


def _to_the_end(rng: random.Random, size: int) -> Plan:
    """Three requests: all go on after their prompts, decode, and are finished in any order."""
    before = tokens(rng, size) if rng.random() < 0.5 else []
    plan = _family(rng, size, len(before) + 2 * size + rng.randrange(size), before)
    requests = [ids + tokens(rng, rng.randrange(1, 2 * size + 2)) for ids in plan.requests]
    ends = [(number, len(ids), True) for number, ids in enumerate(requests)]
    rng.shuffle(ends)
    return Plan(size, requests, [*rng.sample(plan.calls, 3), *ends], plan.cached)


def trusted(case: Case) -> PrefixCache:
    """The prefix cache as the requests found it, each with its own prefix locked."""
    return PrefixCache(case.data["page_size"], *case.outside)


# --- In the box -----------------------------------------------------------------------------------


DRIVE_USES = [calls_of_cache_req]


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """As for 192; then others write into all free pages, and each live row tells who wrote what it reads."""
    numbers, table = range(len(case["rows"])), case["table"]
    lengths = list(zip(case["calls"], case["lengths"], strict=True))
    ends = [max(length for caller, length in lengths if caller == number) for number in numbers]
    memory = {}
    for number, row, hit in zip(numbers, case["rows"], case["hits"], strict=True):
        for position, place in enumerate(table[row, : ends[number]].tolist()):
            memory[place] = position + (0 if position < hit else 1000 * (number + 1))

    def read(number):
        return [memory.get(place, -2) for place in table[case["rows"][number], : ends[number]].tolist()]

    live = list(numbers)
    for number, finished, left in calls_of_cache_req(target, case, io):
        for first in left[1].tolist():
            memory.update(dict.fromkeys(range(first, first + case["page_size"]), -1))
        if finished:
            live.remove(number)
        io.emit([*left, [[one, read(one)] for one in live]])


# --- Outside again: the checker -----------------------------------------------------------------


_WRITER = 1000
"""What a location holds, as the drive tells it: the position, and for each writer so many more."""


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Call by call: what the cache was asked, what the rows read, then pages, rows and the request."""
    rows, calls = case.data["rows"], zip(case.data["calls"], case.data["finished"], strict=True)
    steps, due_steps = steps_of(got[:-1], also=1), steps_of(expected[:-1], also=1)
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
        broken = _check_reads(case, expected[number][6], got[number][6], step, owners.cached)
        broken = broken or owners.check((due.state[0], due.state[1]), step.state[0], step.state[1])
        if broken := broken or check_request(due.state, step.state, finished):
            return broken
    return None


def _check_reads(case: Case, due: list[Any], seen: Any, step: Step, cached: set[int]) -> Broken | None:
    """``due`` and ``seen``: of each live request its number, and by position who wrote what it reads.

    Two copies of a position may be alike; whether the right one was kept is left to the owners of pages.
    """
    if not isinstance(seen, list) or len(seen) != len(due):
        return Broken(3, NO_RESULT)
    for (number, right), one in zip(due, seen, strict=True):
        if not isinstance(one, list) or len(one) != 2 or not isinstance(one[1], list):
            return Broken(3, NO_RESULT)
        if len(one[1]) != len(right) or not all(map(is_int, one[1])):
            return Broken(3, NO_RESULT)
        wrong = [at for at, pair in enumerate(zip(right, one[1], strict=True)) if not _alike(*pair)]
        if wrong:
            place = _location(step, case.data["rows"][number], wrong[0])
            return _why(one[1][wrong[0]], place in cached)
    return None


def _alike(due: int, seen: int) -> bool:
    """Whether two writers wrote the KV of one position."""
    return due == seen or (min(due, seen) >= 0 and due % _WRITER == seen % _WRITER)


def _location(step: Step, row: int, position: int) -> int:
    """What the table emitted has there; -1 when it is none."""
    try:
        place: int = step.state[0].tolist()[row][position]
    except (AttributeError, IndexError, TypeError):
        return -1
    return place


def _why(writer: Any, in_cache: bool) -> Broken:
    if writer != -1:
        zh = "行里读到的，是别的位置的 KV。"
        en = "What a row reads is the KV of other positions."
        return Broken(3, {"zh": zh, "en": en})
    if in_cache:
        zh = "缓存的页被归还了：别人写过之后，指着它们的行读到的是别人的 KV。"
        en = (
            "Pages of the cache were given back: others have written them, and rows that name them read that."
        )
        return Broken(4, {"zh": zh, "en": en})
    zh = "行里还写着已经归还的页：别人写过之后，这个请求读到的是别人的 KV。"
    en = "A row names pages that were given back: others have written them, and the request reads that."
    return Broken(3, {"zh": zh, "en": en})


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """The default runs; two identical prompts; pools so tight that freed pages have new owners at once.

    In the last two, the third request comes in only when the second has given its copy back, and both grow
    into that copy while the second still decodes.
    """
    tight = [[P(0, 16), P(0, 16), P(2, 10)]]
    return [
        *default_jobs(),
        EngineJob(name="two identical prompts, 32 slots", calls=[[P(0, 8), P(0, 8)]] * 2, slots=32),
        EngineJob(name="freed pages get new owners, page size 1", calls=tight, slots=48),
        EngineJob(name="freed pages get new owners, page size 4", calls=tight, page_size=4, slots=60),
        EngineJob(name="behind a hit", calls=[[P(5, 8)], *_behind(P(5, 8))], slots=64),
    ]


def _behind(hit: list[int]) -> list[list[list[int]]]:
    """Twins behind a prefix that is cached, and a third one that gets what the second gives back."""
    twin = hit + P(6, 12)
    return [[twin, list(twin), P(2, 12)]]


_STARTER = (Path(__file__).parents[2] / "chapters/exercises/195_stale_row/starter.py").read_text("utf-8")
_FREE = "    self._free(row[old.cached_len : cached_len])\n"
_LAST = "        self.lock(new)\n"
_REMAP = "        row[old.cached_len : cached_len] = new.get_matched_indices()[old.cached_len : cached_len]\n"
_COPY = "    copy = row[old.cached_len : cached_len].clone()\n"

MUTANTS = [
    Mutant(
        "a",
        "starter",
        zh="页表行仍指向刚释放的页：归还之前，要先把行改指缓存的那一份。",
        en="The row still points at pages just freed: point it at the cache's copy before you free them.",
    ),
    Mutant(
        "b",
        instead(instead(_STARTER, _FREE, ""), _LAST, _LAST + _REMAP) + _FREE,
        zh="切片是视图：改写行之后再释放，释放的成了缓存的页。先复制一份位置号。",
        en="It is a view: freed after the row is rewritten, it frees the cache's pages. Keep a copy first.",
    ),
    Mutant(
        "c",
        instead(
            instead(_STARTER, _FREE, _COPY),
            _LAST,
            _LAST + _REMAP.replace("[old.cached_len : cached_len]\n", "[: cached_len - old.cached_len]\n"),
        )
        + "    self._free(copy)\n",
        zh="应取句柄的 `[old.cached_len, cached_len)`，不是开头的几项。",
        en="Take `[old.cached_len, cached_len)` of the handle, not its first entries.",
    ),
    Mutant(
        "d",
        instead(instead(_STARTER, _FREE, ""), _LAST, _LAST + _REMAP),
        zh="行对了，但自己的那一份没有归还，这些页漏了。",
        en="The row is right, but the own copy is not given back: pages leak.",
    ),
    Mutant(
        "e",
        instead(_STARTER, _FREE, "    if finished:\n    " + _FREE),
        zh="两份都留着：行读得没错，可是缓存不认得自己这一份，请求结束时也不会再还，这些页漏了。",
        en="Both copies stay: reading is right, but nobody gives the own one back later, so its pages leak.",
    ),
]
