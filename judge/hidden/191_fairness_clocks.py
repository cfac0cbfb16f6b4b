"""Hidden tests of 191 `fairness_clocks`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import broken_end, is_int
from judge.harness.compare import same
from judge.types import Broken, Case, Group, Mutant, Text

GROUPS = [
    Group("plain", "没有人被抢占", "nobody is preempted"),
    Group("preempted", "抢占，从头再算", "preempted and computed from the start"),
    Group("hits", "回来时命中缓存", "cache hits on coming back"),
    Group("open", "还没跑过，或者还在暂停", "not run yet, or still paused"),
    Group("mixed", "几个请求交错", "several requests at once"),
]
Events = list[dict[str, Any]]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 30 runs of one to six requests, each by itself a plausible course of one request."""
    found: list[Case] = []

    def add(group: str, *courses: Events) -> None:
        merged = [event for course in courses for event in course]
        merged.sort(key=lambda event: event["round"])  # stable: each request's events stay in order
        found.append(Case(group, {"events": merged}))

    add("plain", [])
    for _ in range(4):
        add("plain", _course(rng, "a", preempts=0))
    add("plain", *(_course(rng, name, preempts=0) for name in _names(rng, 3)))
    for preempts in (1, 1, 2, 2, 3):
        add("preempted", _course(rng, rng.choice(("a", 5)), preempts))
    for preempts in (1, 1, 2, 2, 3):
        add("hits", _course(rng, rng.choice(("b", 0)), preempts, hits=True))
    add("hits", _first_hit(rng))
    add("open", _course(rng, "a", preempts=0)[:1])
    for preempts in (1, 2):
        course = _course(rng, "a", preempts)
        last = max(n for n, event in enumerate(course) if event["kind"] == "preempt")
        add("open", course[: last + 1], *(_course(rng, name, 0)[:1] for name in ("b", 9)))
        add("open", course[: last + 1], _course(rng, "b", 1, hits=True))
    for count in (2, 3, 4, 6, 6):
        names = _names(rng, count)
        add("mixed", *(_course(rng, name, rng.randrange(3), hits=rng.random() < 0.5) for name in names))
    return found


def _names(rng: random.Random, count: int) -> list[Any]:
    numbers = rng.sample(range(100), count)
    return [f"r{number}" for number in numbers] if rng.random() < 0.5 else list(numbers)


def _course(rng: random.Random, name: Any, preempts: int, *, hits: bool = False) -> Events:
    """Arrives, prefills in one or two chunks, decodes; is sent away and comes back ``preempts`` times."""
    now = rng.randrange(4)
    events: Events = [{"round": now, "id": name, "kind": "arrive"}]

    def add(kind: str, **more: Any) -> None:
        events.append({"round": now, "id": name, "kind": kind, **more})

    known, start = rng.randrange(2, 9), 0
    for away in range(preempts + 1):
        now += rng.randrange(0 if not away else 1, 4)
        chunk = rng.randrange(1, known - start) if known - start > 1 and rng.random() < 0.5 else 0
        if chunk:
            add("run", start=start, tokens=chunk)
            now += rng.randrange(1, 3)
        add("run", start=start + chunk, tokens=known - start - chunk)
        add("emit")
        for _ in range(rng.randrange(1, 4)):
            now += rng.randrange(1, 3)
            add("run", start=known, tokens=1)
            add("emit")
            known += 1
        if away < preempts:
            now += rng.randrange(0, 3)
            add("preempt")
            start = rng.randrange(1, known) if hits else 0
            known += 1  # the token emitted last is input now
    return events


def _first_hit(rng: random.Random) -> Events:
    """The first run begins behind a hit; after a preemption nothing is cached, and all of it runs."""
    hit, length = rng.randrange(2, 6), rng.randrange(7, 12)
    return [
        {"round": 0, "id": "a", "kind": "arrive"},
        {"round": 1, "id": "a", "kind": "run", "start": hit, "tokens": length - hit},
        {"round": 1, "id": "a", "kind": "emit"},
        {"round": 3, "id": "a", "kind": "preempt"},
        {"round": 6, "id": "a", "kind": "run", "start": hit - 1, "tokens": length - hit + 2},
        {"round": 6, "id": "a", "kind": "emit"},
    ]


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned as pairs of id and clocks, or what it raised; then the events."""
    ended = io.attempt(target, case["events"])
    if isinstance(ended.get("value"), dict):
        ended = {"value": [[name, clocks] for name, clocks in ended["value"].items()]}
    io.emit(ended)
    io.emit(case["events"])


# --- Outside again: the checker -----------------------------------------------------------------

_WRONG: dict[str, tuple[int, Text]] = {
    "executed": (
        2,
        {"zh": "`executed` 不是跑过的 token 总数。", "en": "`executed` is not the number of tokens run."},
    ),
    "valid": (
        3,
        {
            "zh": "`valid` 不是跑过的不同位置的个数。",
            "en": "`valid` is not the number of different positions that were run.",
        },
    ),
    "recomputed": (
        4,
        {"zh": "`recomputed` 不是 `executed - valid`。", "en": "`recomputed` is not `executed - valid`."},
    ),
    "emitted": (
        5,
        {"zh": "`emitted` 不是产出的次数。", "en": "`emitted` is not the number of tokens emitted."},
    ),
    "first_wait": (
        6,
        {
            "zh": "`first_wait` 不是从来到第一次运行的轮数（从未运行是 `None`）。",
            "en": "`first_wait` is not the rounds from arrival to the first run (`None` if it never ran).",
        },
    ),
    "paused": (
        7,
        {
            "zh": "`paused` 不是每次抢占到下一次运行的轮数之和。",
            "en": "`paused` is not the sum of the rounds from each preemption to the next run.",
        },
    ),
}


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Who has clocks, and of what form; then clock by clock over all requests; then the events."""
    if broken := broken_end(expected, got, 1):
        return broken
    due, seen = expected[0]["value"], got[0]["value"]
    mine = _by_name(seen)
    if mine is None or len(mine) != len(due):
        zh = "返回的不是每个来过的请求一项的字典。"
        en = "What is returned is not a dict with one entry for each request that arrived."
        return Broken(1, {"zh": zh, "en": en})
    pairs = []
    for name, right in due:
        clocks = mine.get((type(name), name))
        if not _has_form(clocks):
            zh = f"每个请求的值应当恰好有这些键，值是 int：{', '.join(_WRONG)}。"
            en = f"The value of each request is a dict of ints with exactly the keys {', '.join(_WRONG)}."
            return Broken(1, {"zh": zh, "en": en})
        pairs.append((right, clocks))
    for key, (rule, text) in _WRONG.items():
        if any(not same(right[key], clocks[key]) for right, clocks in pairs):
            return Broken(rule, text)
    if not same(expected[1], got[1]):
        return Broken(8, {"zh": "调用之后 `events` 变了。", "en": "`events` is changed after the call."})
    return None


def _by_name(seen: Any) -> dict[Any, Any] | None:
    """The clocks by type and id; None when they are no pairs."""
    if not isinstance(seen, list):
        return None
    found = {}
    for pair in seen:
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], int | str):
            return None
        found[type(pair[0]), pair[0]] = pair[1]
    return found


def _has_form(clocks: Any) -> bool:
    if not isinstance(clocks, dict) or set(clocks) != set(_WRONG):
        return False
    values = [value for key, value in clocks.items() if key != "first_wait" or value is not None]
    return all(map(is_int, values))


# --- Mutants ------------------------------------------------------------------------------------

_RIGHT = reference(__file__)
_VALID = '            mine["valid"] = len(positions[name])\n'
_AWAY = "            paused_since[name] = now\n"

MUTANTS = [
    Mutant(
        "a",
        instead(
            instead(_RIGHT, _VALID, '            mine["valid"] = event["start"] + event["tokens"]\n'),
            _AWAY,
            _AWAY + '            clocks[name]["valid"] = 0\n',
        ),
        zh="抢占不会抹掉已到达的位置：到过的仍然算到过。",
        en="A preemption does not undo what was reached.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, _VALID, '            mine["valid"] = mine["executed"]\n'),
        zh="重算是工作量，不是进度：同一个位置跑两遍，只算到过一次。",
        en="Recomputing is work, not progress: a position that runs twice is reached once.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "paused_since.pop(name, now)", "paused_since.get(name, now)"),
        zh="再次运行时暂停就结束，以后的运行不再加它。",
        en="A pause ends with the next run; later runs add nothing to it.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, _VALID, '            mine["valid"] = max(positions[name]) + 1\n'),
        zh="命中的位置没有跑过，不算有效：数跑过的不同位置，不是最远到哪里。",
        en="Positions that were hit never ran: count different positions that ran, not how far it came.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, 'if mine["first_wait"] is None:', "if True:"),
        zh="第一次等待只看第一次运行，以后的运行不改它。",
        en="The first wait ends with the first run; later runs leave it.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, '"first_wait": None', '"first_wait": 0').replace(
            'mine["first_wait"] is None', 'mine["executed"] == event["tokens"]'
        ),
        zh="从未运行的请求还没有“第一次等待”，是 None，不是 0。",
        en="One that never ran has no first wait yet: None, not 0.",
    ),
]
