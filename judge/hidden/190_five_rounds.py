"""Hidden tests of 190 `five_rounds`."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, is_int, outcome, refuse
from judge.harness.compare import same
from judge.types import Broken, Case, Group, Mutant

GROUPS = [
    Group("alone", "只有一个请求", "one request"),
    Group("tokens", "token 预算先用完", "the token budget binds"),
    Group("blocks", "块先用完", "the blocks bind"),
    Group("arrivals", "来得有先有后", "arrivals at any time"),
    Group("mixed", "任意的组合", "any mixture"),
]
_MOST_CALLS = 40  # no case asks for more than 12

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 35 courses of up to twelve rounds, most of the five that are the default."""
    found: list[Case] = []

    def add(group: str, arrivals: list[Any], blocks: int, budget: int, size: int, *rounds: int) -> None:
        names = iter(rng.sample("ABCDEFGH", len(arrivals)))
        keys = ("round", "prompt", "output")
        made = [{"id": next(names), **dict(zip(keys, one, strict=True))} for one in arrivals]
        found.append(Case(group, {"args": [made, blocks, budget, size, *rounds]}))

    add("alone", [(0, 1, 1)], 1, 1, 1)
    for size in (1, 2, 4):
        prompt, output = rng.randrange(1, 2 * size + 2), rng.randrange(1, 5)
        add("alone", [(rng.randrange(3), prompt, output)], 12, 12, size)
        add("alone", [(0, 2 * size + 1, output)], 12, size, size, rng.randrange(6, 10))
    for size in (2, 4, 4, 16):
        budget = rng.randrange(2, 2 * size + 2)
        three = [(0, rng.randrange(1, 3 * size), rng.randrange(1, 4)) for _ in range(3)]
        add("tokens", three, 40, budget, size)
        add("tokens", [(0, budget, 2), (0, 2 * budget, 1), (1, budget, 1)], 60, budget, size, 8)
    for size in (1, 2, 4, 4):
        first, second = rng.randrange(1, 2 * size + 1), rng.randrange(1, 2 * size + 1)
        tight = -(-(first + 1) // size)
        add("blocks", [(0, first, 2), (0, second, 1), (1, size, 2)], tight, 20, size, 8)
        add("blocks", [(0, size, 1), (0, size, rng.randrange(2, 4)), (1, size, 1)], 2, 20, size, 7)
    add("blocks", [(0, 3, 2), (0, 6, 1), (1, 2, 2)], 3, 6, 4)
    add("arrivals", [], 3, 6, 4)
    add("arrivals", [(2, 3, 2)], 3, 6, 4)
    add("arrivals", [(2, 3, 1), (0, 4, 2), (2, 1, 1), (0, 2, 1)], 6, 8, 4)
    add("arrivals", [(5, 3, 1), (1, 4, 2)], 6, 8, 4)
    for _ in range(3):
        late = [(rng.randrange(7), rng.randrange(1, 9), rng.randrange(1, 4)) for _ in range(4)]
        add("arrivals", late, 8, 9, rng.choice((2, 4)), rng.choice((5, 7)))
    for _ in range(10):
        size = rng.choice((1, 2, 3, 4))
        several = [
            (rng.randrange(4), rng.randrange(1, 3 * size + 1), rng.randrange(1, 5))
            for _ in range(rng.randrange(2, 5))
        ]
        add("mixed", several, rng.randrange(3, 8), rng.randrange(3, 10), size, rng.randrange(3, 13))
    return found


class Steps:
    """The trusted `continuous_step`, and what it was given."""

    def __init__(self, case: Case) -> None:
        self._given: list[list[Any]] = []

    def step(self, requests: Any, free_blocks: Any, token_budget: Any, block_size: Any) -> dict[str, Any]:
        """The reference of 188, for whatever a box sends."""
        if len(self._given) >= _MOST_CALLS:
            en = "`step` is called far more often than there are rounds."
            refuse(2, "`step` 的调用次数远多于轮数。", en)
        if not isinstance(requests, list) or not all(isinstance(one, dict) for one in requests):
            refuse(2, "交给 `step` 的不是请求的列表。", "What `step` is given is not a list of requests.")
        keys = ("id", "computed", "target", "blocks")
        if not all(isinstance(one.get("id"), str) and all(key in one for key in keys) for one in requests):
            en = "A request given to `step` lacks one of its keys, or its id is not a string."
            refuse(2, "交给 `step` 的请求缺少键，或者 `id` 不是字符串。", en)
        plain = [{key: value for key, value in one.items() if _is_plain(value)} for one in requests]
        told = [[*(one.get(key) for key in keys), bool(one.get("finished"))] for one in plain]
        self._given.append([told, free_blocks, token_budget, block_size])
        try:
            return _STEP(plain, free_blocks, token_budget, block_size)
        except (KeyError, ValueError):
            en = "`step` is given what cannot be: counters that do not fit, or somebody twice."
            refuse(2, "交给 `step` 的请求不可能是那样：计数对不上，或者同一个请求出现了两次。", en)

    def report(self) -> list[list[Any]]:
        """Every call: requests as [id, computed, target, blocks, finished], both budgets, the block size."""
        return self._given


def _is_plain(value: Any) -> bool:
    """Whether a learner's own field of a request can come back from `step`."""
    if isinstance(value, list | dict):
        return all(map(_is_plain, value.values() if isinstance(value, dict) else value))
    return value is None or isinstance(value, bool | int | float | str)


trusted = Steps

# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the arrivals."""

    def step(requests, free_blocks, token_budget, block_size):
        return io.call("step", requests, free_blocks, token_budget, block_size)

    io.emit(io.attempt(target, step, *case["args"]))
    io.emit(case["args"][0])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Round by round what `step` was given; then the records; then the arrivals."""
    if len(got) != len(expected):
        return Broken(5, NO_RESULT)
    due, given = expected[-1], got[-1]
    for right, mine in zip(due, given, strict=False):
        if broken := _check_queue(right[0], mine[0]) or _check_budgets(right, mine):
            return broken
    if text := outcome(expected[0], got[0]):
        return Broken(5, text)
    if len(given) != len(due):
        zh = f"一共 {len(due)} 轮，`step` 却调用了 {len(given)} 次。"
        en = f"`step` is called {len(given)} times in {len(due)} rounds."
        return Broken(2, {"zh": zh, "en": en})
    if broken := _check_records(expected[0]["value"], got[0]["value"]):
        return broken
    if not same(expected[1], got[1]):
        zh, en = "调用之后 `arrivals` 变了。", "`arrivals` is changed after the call."
        return Broken(6, {"zh": zh, "en": en})
    return None


def _check_queue(due: list[Any], seen: list[Any]) -> Broken | None:
    if same(due, seen):
        return None
    names, right = [one[0] for one in seen], [one[0] for one in due]
    ended = {one[0] for one in due if one[4]}
    if ended - {one[0] for one in seen if one[4]}:
        zh = "上一轮采样完最后一个的请求，没有作为已结束的进入这一轮的 `step`，它的块就没有释放。"
        en = "A request that sampled its last token a round ago does not go into this `step` as finished."
        return Broken(4, {"zh": zh, "en": en})
    if {one[0] for one in seen if one[4]} - ended:
        zh = "一个还没有采样完的请求，被当作已结束的交给了 `step`。"
        en = "A request that has not sampled all of its tokens is given to `step` as finished."
        return Broken(4, {"zh": zh, "en": en})
    if sorted(names) != sorted(right):
        zh = "交给 `step` 的队伍里，有人多了，或者少了。"
        en = "Somebody is missing in the queue that `step` is given, or too much in it."
        return Broken(1, {"zh": zh, "en": en})
    if names != right:
        zh = "队伍的次序不对：先来后到，新来的在队尾。"
        en = "The order of the queue is wrong: first come, first served, newcomers at the end."
        return Broken(1, {"zh": zh, "en": en})
    pairs = list(zip(due, seen, strict=True))
    if any(not same(one[1::2], other[1::2]) for one, other in pairs):
        zh = "请求的 `computed` 或 `blocks` 不是上一步返回的那样。"
        en = "`computed` or `blocks` of a request are not what the step before returned."
        return Broken(2, {"zh": zh, "en": en})
    if any(other[1] < one[2] < other[2] for one, other in pairs if is_int(other[2])):
        zh = "一个请求的 `target` 在追上之前就增加了：没追上，就没有采样。"
        en = "The `target` of a request grows before it is reached: nothing was sampled yet."
        return Broken(3, {"zh": zh, "en": en})
    zh = "请求的 `target` 不对：每采样一个、后面还有，才加一。"
    en = "A `target` is wrong: it grows by one with each sample that is not the last."
    return Broken(3, {"zh": zh, "en": en})


def _check_budgets(due: list[Any], seen: list[Any]) -> Broken | None:
    if not same(due[1], seen[1]):
        zh = "交给 `step` 的空闲块不是上一步剩下的。"
        en = "The free blocks given to `step` are not what the step before has left."
        return Broken(2, {"zh": zh, "en": en})
    if not same(due[2:], seen[2:]):
        zh = "交给 `step` 的 token 预算或块大小不对：每轮都是完整的预算。"
        en = "The token budget or block size given to `step` is wrong: each round has the whole budget."
        return Broken(2, {"zh": zh, "en": en})
    return None


def _check_records(due: list[Any], seen: Any) -> Broken | None:
    if same(due, seen):
        return None
    if not isinstance(seen, list) or len(seen) != len(due):
        zh, en = "返回的不是每轮一条记录的列表。", "What is returned is not a list of one record a round."
        return Broken(5, {"zh": zh, "en": en})
    for right, mine in zip(due, seen, strict=True):
        if not isinstance(mine, dict) or set(mine) != set(right):
            zh = f"记录的键不是恰好这五个：{', '.join(right)}。"
            en = f"A record does not have exactly the five keys {', '.join(right)}."
            return Broken(5, {"zh": zh, "en": en})
        for key, value in right.items():
            if not same(value, mine[key]):
                zh = f"一轮的 `{key}` 不是 `step` 返回时的值。"
                en = f"`{key}` of a round is not what `step` returned."
                return Broken(5, {"zh": zh, "en": en})
    return Broken(5, NO_RESULT)


# --- The trusted step, and mutants -----------------------------------------------------------------


def _continuous_step() -> Callable[..., dict[str, Any]]:
    names: dict[str, Any] = {}
    exec(reference(str(Path(__file__).with_name("188_continuous_step.py"))), names)
    step: Callable[..., dict[str, Any]] = names["continuous_step"]
    return step


_STEP = _continuous_step()
_RIGHT = reference(__file__)
_IF = '            if request["computed"] == request["target"]:\n'
_ELIF = _IF.replace("if", "elif")
_STEP_LINE = "        result = step(live, free, token_budget, block_size)\n"

MUTANTS = [
    Mutant(
        "a",
        instead(
            instead(
                _RIGHT,
                _IF,
                '            if due[request["id"]] == 0:\n                request["finished"] = True\n'
                + _ELIF,
            ),
            '                request["finished"] = due[request["id"]] == 0\n',
            "",
        ),
        zh="下一轮就应释放它的块：最后一个采样完，当轮就标上已结束。",
        en="The next round has its blocks: mark it finished in the round in which it samples its last token.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, _IF, '            if request["scheduled"] > 0:\n'),
        zh="追上目标后才会采样：提示还没算完，什么也不会采样。",
        en="Only when computed reaches target is a token sampled: nothing comes of half a prompt.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "live += [", "live[:0] = ["),
        zh="新请求排到队尾，先来先服务。",
        en="First come, first served: newcomers go to the end.",
    ),
    Mutant(
        "d",
        instead(
            _RIGHT,
            '        live, free = result["requests"], result["free_blocks"]\n',
            '        live, free = result["requests"], result["free_blocks"]\n'
            '        token_budget = result["token_budget"]\n',
        ),
        zh="token 预算是每一轮的，用剩的不带到下一轮，下一轮又是完整的。",
        en="The token budget is for a round: what is left is not carried over, the next has it whole again.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, _STEP_LINE, "        before = free\n" + _STEP_LINE).replace(
            '"free": free, **table', '"free": before, **table'
        ),
        zh="`free` 记的是这一步之后的空闲块。",
        en="`free` is what is free after the step.",
    ),
    Mutant(
        "f",
        instead(
            instead(_RIGHT, 'due[request["id"]] > 0', 'due[request["id"]] >= 0'),
            'due[request["id"]] == 0',
            'due[request["id"]] < 0',
        ),
        zh="最后一个 token 采样出来就结束了，不用再算它的 KV。",
        en="With its last token sampled a request is done; the KV of that token is not needed.",
    ),
]
