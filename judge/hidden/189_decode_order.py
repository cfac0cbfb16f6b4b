"""Hidden tests of 189 `schedule_next_batch`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("few", "两三个请求", "two or three requests"),
    Group("rows", "行号被接着用", "rows that are used again"),
    Group("changing", "有进有出，直到没有", "coming and going, until nobody is left"),
    Group("many", "几十个请求", "dozens of requests"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 20 scripts, each played twice; a set yields its requests in descending uid, then at random."""
    found: list[Case] = []

    def add(group: str, count: int, rows: list[int], script: list[list[Any]]) -> None:
        uids = rng.sample(range(10 * count + 5), count)
        rank = {uid: place for place, uid in enumerate(sorted(uids))}
        shuffled = rng.sample(range(count), count)
        places = [[count - 1 - rank[uid] for uid in uids], shuffled]
        found.append(Case(group, {"uids": uids, "rows": rows, "places": places, "script": script}))

    for count in (2, 2, 3, 3, 3):
        add("few", count, rng.sample(range(count), count), [["add", list(range(count))]])
    for count in (3, 4, 4, 5, 6):
        rows = rng.sample(range(count), count)
        leaver = rng.randrange(1, count - 1)
        rows[-1] = rows[leaver]  # the last one comes when another has left its row
        first = list(range(count - 1))
        add("rows", count, rows, [["add", first], ["remove", leaver], ["add", [count - 1]]])
    for count in (2, 3, 5, 6, rng.randrange(7, 10)):
        add("changing", count, rng.sample(range(count), count), _coming_and_going(rng, count))
    for count in (17, 32, 64, rng.randrange(65, 129)):
        rows = rng.sample(range(count), count)
        leavers = [["abort", number] for number in rng.sample(range(count), 3)]
        add("many", count, rows, [["add", list(range(count))], *leavers])
    return found


def _coming_and_going(rng: random.Random, count: int) -> list[list[Any]]:
    """All come, one or two at a time, and all leave; twice at least, nobody runs."""
    waiting, running = list(range(count)), []
    script: list[list[Any]] = [["add", []]]
    while waiting or running:
        if waiting and (len(running) < 2 or rng.random() < 0.6):
            new, waiting = waiting[:2], waiting[2:]
            running += new
            script.append(["add", new])
        else:
            gone = running.pop(rng.randrange(len(running)))
            script.append([rng.choice(("remove", "abort")), gone])
    return script


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """After each step of the script the batch: uids, phase, whose objects; then who runs."""
    from minisgl.core import Batch
    from minisgl.scheduler.decode import DecodeManager

    class Running:
        """Hashed by its place, as a request by its address: a set yields small hashes in ascending order."""

        def __init__(self, uid, table_idx, place):
            self.uid, self.table_idx, self.place = uid, table_idx, place
            self.can_decode, self.remain_len, self.admission = True, 8, 0

        def __hash__(self):
            return self.place

    def told(batch):
        if batch is None or not isinstance(batch, Batch) or not isinstance(batch.reqs, list):
            return batch if batch is None else "no batch"
        found = batch.reqs
        known = all(isinstance(req, Running) and req in requests for req in found)
        return [[req.uid for req in found], batch.phase, batch.num_decodes] if known else "other requests"

    for places in case["places"]:
        requests = [Running(*fields) for fields in zip(case["uids"], case["rows"], places, strict=True)]
        manager = DecodeManager(page_size=1)
        for name, which in case["script"]:
            if name == "add":
                manager.filter_reqs([requests[number] for number in which])
            elif name == "remove":
                manager.remove_req(requests[which])
            else:
                manager.abort_req(requests[which].uid)
            io.emit([told(target(manager)), sorted(req.uid for req in manager.running_reqs)])
        io.emit([[req.uid, req.table_idx] for req in requests])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Step by step: None or a batch, who is in it, in what order; then what is left of the set."""
    if len(got) != len(expected):
        return Broken(2, NO_RESULT)
    for due, seen in zip(expected, got, strict=True):
        if same(due, seen):
            continue
        if len(due) != 2 or not isinstance(due[1], list) or (due[0] is not None and len(due[0]) != 3):
            break
        if not isinstance(seen, list) or len(seen) != 2:
            return Broken(2, NO_RESULT)
        return _check_batch(due[0], seen[0]) or _changed()
    return None if same(expected, got) else _changed()


def _changed() -> Broken:
    zh = "调用之后，`running_reqs` 或者里面的请求变了。"
    en = "After the call `running_reqs`, or a request in it, is changed."
    return Broken(4, {"zh": zh, "en": en})


def _check_batch(due: Any, seen: Any) -> Broken | None:
    if same(due, seen):
        return None
    if due is None:
        zh = "没有请求在跑，返回的却不是 `None`。"
        en = "Nothing runs, and yet what is returned is not `None`."
        return Broken(1, {"zh": zh, "en": en})
    if not isinstance(seen, list) or len(seen) != 3 or not isinstance(seen[0], list):
        zh = "返回的不是由运行中的请求组成的 `Batch`。"
        en = "What is returned is not a `Batch` of running requests."
        return Broken(2, {"zh": zh, "en": en})
    uids, right = seen[0], due[0]
    if len(uids) != len(right) or not all(any(same(uid, one) for one in uids) for uid in right):
        zh = "批次里不是每个运行中的请求恰好一次。"
        en = "The batch does not hold each running request exactly once."
        return Broken(2, {"zh": zh, "en": en})
    if same(uids, right):
        zh = "请求都对，批次的 `phase` 或 `num_decodes` 却不是解码批次的。"
        en = "The requests are right, but `phase` or `num_decodes` are not those of a decode batch."
        return Broken(2, {"zh": zh, "en": en})
    zh = "批次里的请求不是按 `uid` 升序。"
    en = "The requests of the batch are not in ascending `uid`."
    return Broken(3, {"zh": zh, "en": en})


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """The default runs; eight requests at once; four rows that eight requests use, so that rows come back."""
    eight = [[P(i, 4 + i) for i in range(8)]]
    return [
        *default_jobs(),
        EngineJob(name="eight requests", calls=eight * 2, slots=256),
        EngineJob(name="eight requests, four rows", calls=eight, slots=256, max_running_req=4),
    ]


_STARTER = (Path(__file__).parents[2] / "chapters/exercises/189_decode_order/starter.py").read_text("utf-8")
_LAST = '    return Batch(list(self.running_reqs), "decode")\n'
_EMPTY = "    if not self.running_reqs:\n        return None\n"


def _sorted_by(key: str) -> str:
    return instead(_STARTER, "list(self.running_reqs)", f"sorted(self.running_reqs, key=lambda req: {key})")


MUTANTS = [
    Mutant(
        "a",
        "starter",
        zh="集合没有次序，各卡遍历的先后不同，归约会把两个请求的数加到一起。",
        en="A set has no order: ranks iterate differently, and a reduction adds up numbers of two requests.",
    ),
    Mutant(
        "b",
        _sorted_by("req.table_idx"),
        zh="行号会给下一个请求接着用，uid 才稳定。",
        en="A row goes on to the next request; a uid is stable.",
    ),
    Mutant(
        "c",
        instead(_sorted_by("req.uid"), _EMPTY, ""),
        zh="没有请求时返回 None，不是空的批次。",
        en="Nothing to decode: return None, not an empty batch.",
    ),
    Mutant(
        "d",
        _sorted_by("-req.uid"),
        zh="次序反了：uid 小的在前。",
        en="The order is the other way round: the smallest uid comes first.",
    ),
    Mutant(
        "e",
        instead(
            _STARTER,
            _LAST,
            "    reqs = [self.running_reqs.pop() for _ in range(len(self.running_reqs))]\n"
            '    return Batch(sorted(reqs, key=lambda req: req.uid), "decode")\n',
        ),
        zh="集合被拿空了：这些请求下一步还要解码。",
        en="The set has been emptied: these requests decode in the next step, too.",
    ),
]
