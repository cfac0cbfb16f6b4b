"""Hidden tests of 188 `continuous_step`."""

from __future__ import annotations

import random
from typing import Any

from msgspec.structs import replace

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, is_int, outcome
from judge.harness.compare import same
from judge.jobs import default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("tokens", "token 预算先用完", "the token budget binds"),
    Group("blocks", "块预算先用完", "the block budget binds"),
    Group("finished", "有请求已结束或者追上目标", "requests finished or caught up"),
    Group("mixed", "任意的组合", "any mixture"),
    Group("bad_values", "无效的数值", "values that make no sense"),
]


def cases(rng: random.Random) -> list[Case]:
    """About 60 calls, from no request to ten; block sizes 1 to 16."""
    found: list[Case] = []

    def add(group: str, requests: list[Any], free: Any, tokens: Any, size: Any) -> None:
        found.append(Case(group, {"args": [requests, free, tokens, size]}))

    _add_token_cases(rng, add)
    _add_block_cases(rng, add)
    _add_finished_cases(rng, add)
    for _ in range(14):
        size = rng.choice((1, 2, 3, 4, 16))
        requests = [_random(rng, name, size) for name in _names(rng, rng.randrange(2, 11))]
        add("mixed", requests, rng.randrange(0, 7), rng.randrange(0, 6 * size + 2), size)
    _add_bad_cases(rng, add)
    return found


def _request(name: Any, computed: Any, target: Any, blocks: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "computed": computed, "target": target, "blocks": blocks, **more}


def _random(rng: random.Random, name: Any, size: int) -> dict[str, Any]:
    """A request in any state: new, in its prompt, decoding, caught up, finished, with spare blocks."""
    computed = rng.choice((0, rng.randrange(0, 4 * size + 1)))
    target = computed + rng.choice((0, 1, 1, rng.randrange(1, 3 * size + 2)))
    blocks = -(-computed // size) + rng.choice((0, 0, 0, 1))
    more: dict[str, Any] = {} if rng.random() < 0.4 else {"finished": rng.random() < 0.3}
    if rng.random() < 0.5:
        more["scheduled"] = rng.randrange(5)  # left from the step before
    return _request(name, computed, target, blocks, **more)


def _names(rng: random.Random, count: int) -> list[Any]:
    """Ids in no order: ints for some calls, strings for others."""
    numbers = rng.sample(range(100), count)
    return [f"r{number}" for number in numbers] if rng.random() < 0.5 else list(numbers)


def _add_token_cases(rng: random.Random, add: Any) -> None:
    add("tokens", [], rng.randrange(5), rng.randrange(5), rng.randrange(1, 5))
    add("tokens", [_request("a", 0, 1, 0)], 1, 1, 1)
    add("tokens", [_request("a", 0, 5, 0)], 9, 0, 4)
    for size in (1, 2, 4, 16):
        budget = rng.randrange(2, 2 * size + 3)
        first = rng.randrange(1, budget)
        three = [_request("a", 0, first, 0), _request("b", 0, budget, 0), _request("c", 0, 3, 0)]
        add("tokens", three, 99, budget, size)
        add("tokens", [_request("a", 0, budget, 0), _request("b", 0, 1, 0)], 99, budget, size)
        long = rng.randrange(size, 3 * size)
        add("tokens", [_request("a", long, long + 50, 3)], 60, rng.randrange(1, 40), size)


def _add_block_cases(rng: random.Random, add: Any) -> None:
    for size in (1, 4, 16):
        big, small = 3 * size, rng.randrange(1, size + 1)
        add("blocks", [_request("a", 0, big, 0), _request("b", 0, small, 0)], 2, 99, size)
        add("blocks", [_request("a", 0, big, 0), _request("b", 0, small, 0)], 3, 99, size)
        add("blocks", [_request("a", 0, big, 0)], 3, big, size)
        # the skipped one would use up the budget that the next ones need
        rest = [_request("b", 0, small, 0), _request("c", size, size + 1, 1)]
        add("blocks", [_request("a", 0, big, 0), *rest], 2, big, size)
        add("blocks", [_request("a", size, size + 1, 1), _request("b", size, size + 1, 1)], 1, 9, size)
        add("blocks", [_request("a", 0, size, 2), _request("b", 0, 1, 1)], 0, 99, size)  # spare blocks
    for size in (3, 4, 16):
        fill = rng.randrange(1, size)
        add("blocks", [_request("a", fill, size, 1)], 0, 99, size)
        add("blocks", [_request("a", fill, size + 1, 1), _request("b", 2, 3, 1)], 1, 99, size)
        add("blocks", [_request("a", size + fill, 2 * size + fill, 2), _request("b", 0, 1, 0)], 1, 99, size)


def _add_finished_cases(rng: random.Random, add: Any) -> None:
    size = rng.choice((2, 4))
    done = _request("d", size, size, 1, finished=True)
    new = _request("n", 0, size, 0)
    add("finished", [done], 0, 5, size)
    add("finished", [done, new], 0, 9, size)
    add("finished", [new, done], 0, 9, size)
    add("finished", [new, dict(done, blocks=3), dict(new, id="m", target=2 * size)], 0, 9, size)
    add("finished", [dict(done, target=size + 3), new], 0, 9, size)  # finished short of its target
    up = _request("u", size, size, 1)
    add("finished", [up], 2, 5, size)
    add("finished", [dict(up, finished=False), done, new], 1, 5, size)
    add("finished", [dict(up, scheduled=3), _request("v", 0, 0, 0)], 0, 0, size)
    add("finished", [dict(done, id=1), dict(done, id=2, blocks=2), up, dict(new, id=3)], 1, 9, size)


def _add_bad_cases(rng: random.Random, add: Any) -> None:
    good = _request("a", 3, 6, 1)
    for wrong in (-1, True, 2.0, "2", None):
        add("bad_values", [dict(good)], wrong, 5, 4)
        add("bad_values", [dict(good)], 5, wrong, 4)
    for wrong in (0, -4, True, 4.0, None):
        add("bad_values", [_request("b", 0, 1, 0)], 5, 5, wrong)
    add("bad_values", [], 5, 5, 0)
    for key in ("computed", "target", "blocks"):
        for wrong in (-1, True, 3.0, None):
            add("bad_values", [_request("b", 0, 1, 0), dict(good, **{key: wrong})], 5, 5, 4)
    add("bad_values", [_request("a", 5, 4, 2)], 5, 5, 4)
    add("bad_values", [_request("a", 5, 9, 1)], 5, 5, 4)
    add("bad_values", [_request("a", 5, 9, 1, finished=True)], 5, 5, 4)
    add("bad_values", [dict(good), _request("b", 0, 1, 0), dict(good)], 5, 5, 4)
    add("bad_values", [dict(good, finished=True), dict(good)], 5, 5, 4)
    add("bad_values", [_request("b", 0, 1, 0), _request("a", rng.randrange(5, 9), 9, 1)], 0, 0, 4)


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the requests as they are now."""
    io.emit(io.attempt(target, *case["args"]))
    io.emit(case["args"][0])


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors first, then who is in the list, then what each got, then the two budgets, then the inputs."""
    if len(got) != len(expected):
        return Broken(4, NO_RESULT)
    if text := outcome(expected[0], got[0]):
        error = got[0].get("error") if isinstance(got[0], dict) else None
        return Broken(4 if "value" in expected[0] and error != "ValueError" else 8, text)
    if "value" in expected[0]:
        due, seen = expected[0]["value"], got[0]["value"]
        broken = _check_shape(due, seen) or _check_list(due, seen) or _check_plan(due, seen)
        if broken := broken or _check_budgets(due, seen):
            return broken
    if not same(expected[1], got[1]):
        zh, en = (
            "调用之后传入的请求变了；要改的是副本。",
            "The requests passed in are changed; change copies.",
        )
        return Broken(7, {"zh": zh, "en": en})
    return None


_COUNTERS = ("computed", "target", "blocks", "scheduled")


def _check_shape(due: dict[str, Any], seen: Any) -> Broken | None:
    if not isinstance(seen, dict) or set(seen) != set(due) or not isinstance(seen["requests"], list):
        zh = "返回的不是恰好有 requests、free_blocks、token_budget 三个键的字典。"
        en = "The result is not a dict with exactly the keys requests, free_blocks and token_budget."
        return Broken(4, {"zh": zh, "en": en})
    for request in seen["requests"]:
        if not isinstance(request, dict) or "id" not in request:
            zh, en = "返回的列表里有一项不是请求。", "An item of the list returned is not a request."
            return Broken(4, {"zh": zh, "en": en})
        for key in _COUNTERS:
            if not is_int(request.get(key)):
                zh = f"返回的请求里，`{key}` 缺少或者不是 int。"
                en = f"In a request returned, `{key}` is missing or not an int."
                return Broken(4, {"zh": zh, "en": en})
    for key in ("free_blocks", "token_budget"):
        if not is_int(seen[key]):
            return Broken(4, {"zh": f"`{key}` 不是 int。", "en": f"`{key}` is not an int."})
    return None


def _check_list(due: dict[str, Any], seen: dict[str, Any]) -> Broken | None:
    names = [request["id"] for request in seen["requests"]]
    if same([request["id"] for request in due["requests"]], names):
        return None
    missing = [r for r in due["requests"] if not any(same(r["id"], name) for name in names)]
    if any(request["computed"] == request["target"] for request in missing):
        zh = "一个追上目标、但没有结束的请求不在返回的列表里。"
        en = "A request that has caught up with its target, but is not finished, is not in the list returned."
        return Broken(6, {"zh": zh, "en": en})
    if missing:
        zh, en = "一个活跃的请求不在返回的列表里。", "A live request is not in the list returned."
        return Broken(5, {"zh": zh, "en": en})
    if len(names) > len(due["requests"]):
        zh, en = "已结束的请求还在返回的列表里。", "A finished request is still in the list returned."
        return Broken(1, {"zh": zh, "en": en})
    zh, en = "返回的请求次序变了。", "The requests returned are in another order."
    return Broken(2, {"zh": zh, "en": en})


def _check_plan(due: dict[str, Any], seen: dict[str, Any]) -> Broken | None:
    """The first request that differs says most: what follows it differs because of it."""
    for place, (right, mine) in enumerate(zip(due["requests"], seen["requests"], strict=True), start=1):
        if broken := _check_one(right, mine, place):
            return broken
    return None


def _check_one(right: dict[str, Any], mine: dict[str, Any], place: int) -> Broken | None:
    zh, en = f"第 {place} 个活跃请求", f"live request number {place}"
    if mine["scheduled"] == 0 and right["scheduled"]:
        text = {
            "zh": f"{zh}放得下，token 预算也有，却什么也没得到。",
            "en": f"There is room and budget for {en}, and yet it gets nothing.",
        }
        return Broken(4, text)
    if mine["scheduled"] and right["scheduled"] == 0:
        text = {
            "zh": f"{zh}应当什么也得不到：空闲块不够，或者没有 token 可算。",
            "en": f"Nothing is due to {en}: free blocks are too few, or there is no token to compute.",
        }
        return Broken(5, text)
    if mine["scheduled"] != right["scheduled"]:
        text = {
            "zh": f"{zh}得到的 token 数不是 `min(target - computed, token_budget)`。",
            "en": f"What {en} gets is not `min(target - computed, token_budget)`.",
        }
        return Broken(2, text)
    if mine["blocks"] != right["blocks"]:
        text = {
            "zh": f"{zh}持有的块数不对：这一步之后算好的 token 有几个，就按这个总数算，尾块里可能还有空位。",
            "en": f"The blocks that {en} holds are wrong: count by all tokens computed after this step;"
            " the last block may have room.",
        }
        return Broken(3, text)
    if mine["computed"] != right["computed"] or mine["target"] != right["target"]:
        text = {
            "zh": f"{zh}的 `computed` 没有正好增加它得到的 token 数，或者 `target` 变了。",
            "en": f"`computed` of {en} does not grow by just the tokens it got, or its `target` is changed.",
        }
        return Broken(4, text)
    return None


def _check_budgets(due: dict[str, Any], seen: dict[str, Any]) -> Broken | None:
    if seen["free_blocks"] != due["free_blocks"]:
        zh = "空闲块加上活跃请求的块，与调用之前不相等。"
        en = "Free blocks plus the blocks of live requests are not what they were before the call."
        return Broken(7, {"zh": zh, "en": en})
    if seen["token_budget"] != due["token_budget"]:
        zh = "token 预算减少的不是这一步算的 token 数。"
        en = "The token budget does not go down by the tokens that this step computes."
        return Broken(5, {"zh": zh, "en": en})
    return None


def engine_jobs() -> list[EngineJob]:
    """The default prompts, in a pool that holds all and without prefix hits: plans alone decide who runs."""
    return [replace(job, cache_type="naive") for job in default_jobs()]


_RIGHT = reference(__file__)
_RELEASE = """\
    free_blocks += sum(request["blocks"] for request in requests if request.get("finished"))
"""

MUTANTS = [
    Mutant(
        "a",
        instead(
            instead(_RIGHT, "            token_budget -= take\n", ""),
            "        if needed <= free_blocks:\n",
            "        token_budget -= take\n        if needed <= free_blocks:\n",
        ),
        zh="没运行就不该扣 token 预算。",
        en="It did not run; charge nothing.",
    ),
    Mutant(
        "b",
        instead(instead(_RIGHT, _RELEASE, ""), "    return {", _RELEASE + "    return {"),
        zh="先释放，本轮就能用。",
        en="Release first; this round can use the blocks.",
    ),
    Mutant(
        "c",
        _RIGHT.replace(
            'request.get("finished")', '(request.get("finished") or request["computed"] == request["target"])'
        ),
        zh="只是追上目标，并未结束。",
        en="It only caught up; sampling follows.",
    ),
    Mutant(
        "d",
        instead(
            _RIGHT,
            '-(-(request["computed"] + take) // block_size) - request["blocks"]',
            "-(-take // block_size)",
        ),
        zh="尾块可能有空位，按总长度算。",
        en="The last block may have room.",
    ),
    Mutant(
        "e",
        instead(
            _RIGHT,
            "            token_budget -= take\n",
            "            token_budget -= take\n        else:\n            break\n",
        ),
        zh="跳过放不下的，后面更小的也许放得下。",
        en="Skip the one that does not fit; a smaller one behind it may.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "[dict(request, scheduled=0) for request in", "[request for request in").replace(
            "    for request in live:\n", '    for request in live:\n        request["scheduled"] = 0\n'
        ),
        zh="传入的字典被改动了；先复制一份。",
        en="The dicts passed in are changed; copy them first.",
    ),
]
