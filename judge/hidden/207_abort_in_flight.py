"""Hidden tests of 207 `abort_in_flight`."""

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
    Group("running", "正在运行", "running"),
    Group("chunked", "提示算到一半", "a prompt computed in part"),
    Group("waiting", "还在排队，或者没有这个请求", "still waiting, or unknown"),
    Group("twice", "中止两次，或者已经结束", "aborted twice, or ended before"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 30 runs of the overlap loop with aborts; in each one request is aborted that holds a row."""
    found: list[Case] = []

    def add(group: str, *requests: dict[str, Any], **more: Any) -> None:
        found.append(Case(group, script(rng, list(requests), **more)))

    for loop in (1, 2, 3, 4):
        add("running", request(rng, 6, aborted=[loop]))
        add("running", request(rng, 6, aborted=[loop]), request(rng, rng.randrange(2, 7)))
    add("running", request(rng, 5, aborted=[2]), request(rng, 5, aborted=[2], arrives=1), request(rng, 4))
    add("running", request(rng, 6, eos=4, aborted=[2]), request(rng, 4, eos=1), mixed=True)
    for loop in (1, 2, 3):
        add("chunked", request(rng, 3, prompt=16, aborted=[loop]), budget=4)
        add("chunked", request(rng, 5), request(rng, 3, prompt=14, aborted=[loop]), budget=5, mixed=True)
    add("chunked", request(rng, 3, prompt=9, aborted=[1]), request(rng, 2, prompt=9, aborted=[3]), budget=4)
    for loop in (1, 2):
        held, waits = request(rng, 5, aborted=[loop + 1]), request(rng, 3, aborted=[loop])
        add("waiting", held, waits, rows=1)
        add("waiting", held, waits, request(rng, 2), rows=1)
    add("waiting", request(rng, 4, aborted=[2]), request(rng, 3, arrives=4, aborted=[1]))
    add("waiting", request(rng, 4, aborted=[1, 2]), request(rng, 2, arrives=5, aborted=[0, 3]))
    for loop in (1, 2, 3):
        add("twice", request(rng, 6, aborted=[loop, loop]), request(rng, 4))
        add("twice", request(rng, 6, aborted=[loop, loop + 1]), request(rng, 3, aborted=[6]))
    add("twice", request(rng, 2, aborted=[3, 4]), request(rng, 6, aborted=[4]))
    add("twice", request(rng, 6, eos=1, aborted=[3]), request(rng, 6, aborted=[3, 5]))
    return found


# --- In the box -----------------------------------------------------------------------------------

DRIVE_USES = [overlap_world]


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """An overlap loop with aborts: what each frees and marks, and all that follows."""
    overlap_world(case, "_abort_req", target, io)


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """What is wrong at the first entry that differs."""
    return broken_at_first(expected, got, _why)


def _why(found: Difference) -> tuple[str, str, int]:
    due, seen = found.words
    if not found.inside("abort", "aborted"):
        zh = "中止了的请求还在队列里或者还在运行。"
        en = "A request that was aborted is still in a queue or runs on."
        return zh, en, 1
    if due == seen == "aborted":
        return _marks(found.due[1], found.seen[1] if len(found.seen) == 2 else None)
    if due == "end":
        zh = "中止的请求占着行和页，却没有释放。"
        en = "The request aborted holds a row and pages, and is not freed."
        return zh, en, 3
    if seen == "end":
        zh = "释放了不该释放的：没有这个请求，它不占行，或者已经释放过。"
        en = "Something is freed that is not to be: unknown, without a row, or freed before."
        return zh, en, 3
    return NO_RESULT["zh"], NO_RESULT["en"], 3


def _marks(due: list[Any], seen: Any) -> tuple[str, str, int]:
    if isinstance(seen, list) and len(seen) < len(due):
        zh = "中止的请求没有进 `finished_reqs`：在途的一步回来时，会把它当成还在运行。"
        en = "The aborted request is not in `finished_reqs`: the step in flight takes it for a running one."
        return zh, en, 2
    zh = "`finished_reqs` 里多了不是请求的东西，或者不该在里面的请求。"
    en = "`finished_reqs` holds what is no request, or a request that does not belong there."
    return zh, en, 2


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Overlapped: the default run; and calls whose first request is aborted, each a step later."""
    on = {"overlap": True}
    pairs = [[P(2 * i, 9), P(2 * i + 1, 9)] for i in range(9)]
    steps = list(range(9))
    return [
        default_jobs(**on)[0],
        EngineJob(name="an abort at each step", calls=pairs, max_tokens=4, scheduler=on, aborts=steps),
        EngineJob(
            name="an abort at each step, in chunks", calls=pairs, max_tokens=4, max_extend_tokens=4,
            page_size=4, scheduler=on, aborts=steps,
        ),
    ]  # fmt: skip


_RIGHT = """\
def _abort_req(self, uid):
    req = self.prefill_manager.abort_req(uid) or self.decode_manager.abort_req(uid)
    if req is not None:
        self.finished_reqs.add(req)
        self._free_req_resources(req)
"""

MUTANTS = [
    Mutant(
        "a",
        "starter",
        zh="没有放进 `finished_reqs`：在途批次会再次释放它。",
        en="It is not added to `finished_reqs`: the batch in flight will free it again.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "finished_reqs.add(req)", "finished_reqs.add(uid)"),
        zh="集合里放的是请求对象，不是 uid。",
        en="`finished_reqs` holds requests, not uids.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "        self._free_req_resources(req)\n", ""),
        zh="只标记，没有释放：它的页还占着。",
        en="Marked, but not freed: its pages stay.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "self.prefill_manager.abort_req(uid) or ", ""),
        zh="还在排队的没有中止：它以后会被接纳，照样算完。",
        en="A request that waits is not aborted: it will be admitted, and computed to its end.",
    ),
    Mutant(
        "e",
        instead(
            _RIGHT,
            "self.prefill_manager.abort_req(uid) or self.decode_manager.abort_req(uid)",
            "next(\n"
            "        (r for r in self.decode_manager.running_reqs if r.uid == uid), None\n"
            "    ) or self.prefill_manager.abort_req(uid)",
        ),
        zh="找到了正在运行的请求，却没有把它从 `running_reqs` 里拿走：下一步还会算它。",
        en="A running request is found, but stays in `running_reqs`: the next step computes it again.",
    ),
]
