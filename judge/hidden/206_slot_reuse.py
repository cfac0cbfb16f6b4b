"""Hidden tests of 206 `slot_reuse`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.overlap_box import overlap_world
from judge.authoring.overlap_world import Difference, broken_at_first, request, script
from judge.authoring.sentences import NO_RESULT
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("length", "到 max_tokens 结束", "an end by max_tokens"),
    Group("eos", "EOS 提前结束", "an early end by EOS"),
    Group("abort", "中止", "aborts"),
    Group("rows", "两行，六个请求", "two rows, six requests"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 20 runs of the overlap loop; in each a request ends while a batch is in flight, and one after."""
    found: list[Case] = []

    def add(group: str, *requests: dict[str, Any], **more: Any) -> None:
        found.append(Case(group, script(rng, list(requests), **more)))

    for output in (1, 2, 3):
        add("length", request(rng, output), request(rng, output + rng.randrange(1, 4)))
        add("length", request(rng, output), request(rng, 5), request(rng, 1, arrives=2))
    for eos in (0, 1, 2):
        add("eos", request(rng, 6, eos=eos))
        add("eos", request(rng, 6, eos=eos), request(rng, 4), request(rng, 5, eos=eos))
    for loop in (1, 2, 3):
        add("abort", request(rng, 5, aborted=[loop]), request(rng, rng.randrange(3, 6)))
    add("abort", request(rng, 3, prompt=8, aborted=[1]), request(rng, 3, prompt=4), budget=4)
    for _ in range(3):
        six = [request(rng, rng.randrange(1, 5), eos=rng.choice((-1, 0))) for _ in range(6)]
        add("rows", request(rng, 4, eos=1), *six[1:], rows=2)
    add("rows", *(request(rng, n) for n in (2, 4, 3, 1, 2, 3)), rows=2)
    return found


# --- In the box -----------------------------------------------------------------------------------

DRIVE_USES = [overlap_world]


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """An overlap loop: at each end whether a batch is in flight, and what becomes of pages and row."""
    overlap_world(case, "_free_req_resources", target, io)


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """What is wrong at the first entry that differs."""
    return broken_at_first(expected, got, _why)


def _why(found: Difference) -> tuple[str, str, int]:
    due, seen = found.words
    if not found.inside("end", "ended"):
        return NO_RESULT["zh"], NO_RESULT["en"], 1
    if due == "cache" and seen == "row":
        zh = "行先还了，KV 才交：交的时候还要读这一行。"
        en = "The row is given back before the KV is handed over, which reads that row."
        return zh, en, 1
    if "cache" in (due, seen):
        zh = "请求的页没有在它结束时立即交出去，恰好一次，`finished=True`。"
        en = "The request's pages are not handed over at its end, once, with `finished=True`."
        return zh, en, 1
    if found.latest("end")[3]:
        if seen == "row":
            zh = "有批次在途，行却立刻还了：在途的一步还会写它。"
            en = "A batch is in flight, and yet the row is free at once: that step still writes to it."
            return zh, en, 2
        zh = "有批次在途，`deferred_slots` 末尾却不是这一行的行号。"
        en = "A batch is in flight, but `deferred_slots` does not end with this row's number."
        return zh, en, 2
    zh = "没有批次在途，行却没有当场还掉：再没有谁会来还它。"
    en = "No batch is in flight, but the row is not freed at once: nobody else will do it."
    return zh, en, 3


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Overlapped: the default runs; six prompts that have two rows and end steps apart: every second one is
    computed in chunks.
    """
    on = {"overlap": True}
    six = [[P(i, 20 if i % 2 else 5) for i in range(6)]]
    return [
        *default_jobs(**on),
        EngineJob(
            name="two rows, six prompts", calls=six, max_running_req=2, max_tokens=5, max_extend_tokens=6,
            scheduler=on | {"mixed": True},
        ),
    ]  # fmt: skip


_RIGHT = """\
def _free_req_resources(self, req):
    self.cache_manager.cache_req(req, finished=True)
    if self.in_flight:
        self.deferred_slots.append(req.table_idx)
    else:
        self.table_manager.free(req.table_idx)
"""
_CACHE = "    self.cache_manager.cache_req(req, finished=True)\n"

MUTANTS = [
    Mutant(
        "a",
        "starter",
        zh="行立刻还了，而在途的一步还会写这一行。",
        en="The row is free at once, and a running step still writes to it.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "if self.in_flight:", "if True:"),
        zh="没有在途批次时也推迟，就永不归还：要等的那一批已经做完了。",
        en="It is deferred with nothing in flight, too, and never returns: the batch to wait for is done.",
    ),
    Mutant(
        "c",
        """\
def _free_req_resources(self, req):
    self.late = [*getattr(self, "late", []), req]
    if self.in_flight:
        self.deferred_slots.append(req.table_idx)
        return
    for each in self.late:
        self.cache_manager.cache_req(each, finished=True)
    self.late = []
    self.table_manager.free(req.table_idx)
""",
        zh="页也推迟了。页受流的顺序保护，不必推迟：谁再写它，都排在在途的一步之后。",
        en="Pages are deferred, too. The stream's order protects them: who writes them next comes later.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, _CACHE, "") + _CACHE,
        zh="次序反了：交 KV 时要读这一行，所以先交，再还行。",
        en="The order is wrong: handing the KV over reads the row, so give the row back after it.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, "append(req.table_idx)", "append(req)"),
        zh="`deferred_slots` 里放的是行号，不是请求。",
        en="`deferred_slots` holds row numbers, not requests.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "if self.in_flight:", "if not self.in_flight:"),
        zh="条件反了：有批次在途才推迟。",
        en="The condition is the wrong way round: defer while a batch is in flight.",
    ),
]
