"""Hidden tests of 203 `lpm_order`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import broken_end, is_int
from judge.harness.compare import same
from judge.jobs import P
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("by_hits", "没有人等够", "nobody has waited long enough"),
    Group("late", "有人等够了", "some have waited long enough"),
    Group("all_late", "都等够了", "all have waited long enough"),
    Group("ties", "命中一样多", "equal hits"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 28 queues of none to 12 requests; uids in any order, and dicts that hold others, too."""
    found: list[Case] = []

    def add(group: str, hits: list[int], waited: list[int], bound: int) -> None:
        uids = rng.sample(range(90), len(hits))
        found.append(Case(group, {"pending": uids, "hits": hits, "waited": waited, "bound": bound}))

    def drawn(count: int, top: int) -> list[int]:
        return [rng.randrange(top) for _ in range(count)]

    for count in (1, 2, rng.randrange(3, 6), rng.randrange(6, 13)):
        for bound in (1, rng.randrange(2, 20)):
            add("by_hits", rng.sample(range(200), count), drawn(count, bound), bound)
    for _ in range(8):
        bound, count = rng.randrange(2, 20), rng.randrange(3, 10)
        waited = [*drawn(count, bound), bound, bound + rng.randrange(1, 9)]
        rng.shuffle(waited)
        add("late", rng.sample(range(200), count + 2), waited, bound)
    # arrival and waiting need not agree: one that was sent back counts as late at once
    add("late", [0, 30, 9, 4], [7, 1, 8, 0], 7)
    for count in (1, rng.randrange(2, 5), rng.randrange(5, 12)):
        bound = rng.randrange(2, 9)
        add("all_late", rng.sample(range(200), count), [bound + more for more in drawn(count, 6)], bound)
    add("all_late", [5, 7, 6], [0, 0, 0], 0)
    for count in (2, rng.randrange(3, 6), rng.randrange(6, 13)):
        bound = rng.randrange(2, 9)
        add("ties", [rng.choice((0, 16))] * count, drawn(count, bound), bound)
        add("ties", [16 * hit for hit in drawn(count, 3)], drawn(count, bound), bound)
        add("ties", [16 * hit for hit in drawn(count, 2)], drawn(count, bound + 3), bound)
    add("ties", [], [], 4)
    return found


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the inputs."""
    pending = case["pending"]
    matched = {90: 500, **dict(zip(pending, case["hits"], strict=True))}
    waited = {90: 0, **dict(zip(pending, case["waited"], strict=True))}
    io.emit(io.attempt(target, pending, matched, waited, case["bound"]))
    io.emit([pending, list(matched.items()), list(waited.items())])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors and types, who is there, the late ones, the others, ties, then the inputs."""
    if broken := broken_end(expected, got, 5):
        return broken
    due, seen = expected[0]["value"], got[0]["value"]
    if not isinstance(seen, list) or not all(map(is_int, seen)):
        return Broken(5, {"zh": "返回的不是 uid 的列表。", "en": "What is returned is not a list of uids."})
    if sorted(seen) != sorted(due):
        zh = "不是每个等着的请求都恰好出现一次。"
        return Broken(5, {"zh": zh, "en": "Not every request that waits is in the result exactly once."})
    if seen != due:
        return _why(case.data, due, seen)
    if not same(expected[1], got[1]):
        zh, en = "调用之后输入变了。", "An input is changed after the call."
        return Broken(5, {"zh": zh, "en": en})
    return None


def _why(data: dict[str, Any], due: list[int], seen: list[int]) -> Broken:
    hits = dict(zip(data["pending"], data["hits"], strict=True))
    late = {
        uid for uid, waited in zip(data["pending"], data["waited"], strict=True) if waited >= data["bound"]
    }
    if set(seen[: len(late)]) != late:
        zh, en = "有人等够了，却没有排到前面。", "One who has waited long enough is not at the front."
        return Broken(1, {"zh": zh, "en": en})
    if seen[: len(late)] != due[: len(late)]:
        zh, en = (
            "等够了的人没有按到达的先后。",
            "Those who have waited long enough are not in order of arrival.",
        )
        return Broken(2, {"zh": zh, "en": en})
    if [hits[uid] for uid in seen[len(late) :]] != [hits[uid] for uid in due[len(late) :]]:
        zh, en = "其余的没有按命中从多到少。", "The others are not in falling order of what they hit."
        return Broken(3, {"zh": zh, "en": en})
    zh, en = "命中一样多的没有按到达的先后。", "Of equal hits it is not who came first that goes first."
    return Broken(4, {"zh": zh, "en": en})


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Policy lpm: two families in turn, where order decides what is computed; and a miss among forty hits,
    which is late just when a row is free.
    """
    family = [P(i % 2, 24) + P(4 + i, 3) for i in range(6)]
    miss = [P(9, 9), *(P(0, 16) + P(i, 2) for i in range(40))]
    lpm = {"policy": "lpm", "lpm_bound": 30}
    return [
        EngineJob("two families", [[P(0, 24)], family], slots=64, max_running_req=1, scheduler=lpm),
        EngineJob(
            "a miss among forty hits",
            [[P(0, 16)], miss],
            max_tokens=3,
            max_running_req=2,
            scheduler={"policy": "lpm", "lpm_bound": 13},
        ),
    ]


_RIGHT = """\
def lpm_order(pending, matched, waited, bound):
    first = [one for one in pending if waited[one] >= bound]
    rest = [one for one in pending if one not in first]
    return first + sorted(rest, key=lambda one: -matched[one])
"""
_KEY = "sorted(rest, key=lambda one: -matched[one])"

MUTANTS = [
    Mutant(
        "a",
        "def lpm_order(pending, matched, waited, bound):\n"
        "    return sorted(pending, key=lambda uid: -matched[uid])\n",
        zh="从不命中的请求会饿死：等够了的要排到前面。",
        en="A request that never hits starves: who has waited long enough goes to the front.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "first + sorted", "sorted(first, key=lambda one: -matched[one]) + sorted"),
        zh="等够了的按到达的先后，不看命中。",
        en="Late ones go by arrival, whatever they hit.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, _KEY, "sorted(rest, key=lambda one: (-matched[one], one))"),
        zh="命中相同，按到达的先后，不按 uid。",
        en="Equal hits: first come first, not the smaller uid.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, ">= bound", "> bound"),
        zh="等满 `bound` 步就算等够，不必再多等一步。",
        en="`bound` steps are long enough; it need not be one more.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, _KEY, "sorted(rest, key=lambda one: matched[one])"),
        zh="命中多的在前，这里反了。",
        en="Who hits most goes first; here it is the other way round.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, _KEY, "sorted(rest, key=lambda one: matched[one])[::-1]"),
        zh="倒过来的不只是命中，相同的也反了：先到的要在先。",
        en="Turned round are not just the hits but equals, too: who came first goes first.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "first + sorted", "sorted(first, key=lambda one: -waited[one]) + sorted"),
        zh="等够了的按到达的先后，不按等了多久。",
        en="Late ones go by arrival, not by how long they have waited.",
    ),
]
