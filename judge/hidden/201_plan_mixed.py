"""Hidden tests of 201 `plan_mixed`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import broken_end, is_int
from judge.harness.compare import same
from judge.jobs import P
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("above", "预算够所有人", "the budget is enough for all"),
    Group("cut", "有一个提示要切", "one prompt is cut"),
    Group("used_up", "解码用完了预算", "the decodes use up the budget"),
    Group("alone", "只有解码，或者只有提示", "decodes alone, or prompts alone"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 40 steps of none to nine decodes and none to six prompts."""
    found: list[Case] = []

    def add(group: str, decodes: int, remains: list[int], budget: int) -> None:
        uids = rng.sample(range(60), decodes + len(remains))
        running = uids[:decodes]
        if decodes > 1 and running == sorted(running):
            running.reverse()
        prompts = [list(pair) for pair in zip(uids[decodes:], remains, strict=True)]
        found.append(Case(group, {"decodes": running, "prefill": prompts, "budget": budget}))

    def drawn(count: int, longest: int = 20) -> list[int]:
        return [rng.randrange(1, longest) for _ in range(count)]

    for spare in (0, 1, rng.randrange(2, 30)):
        for decodes in (1, rng.randrange(2, 9)):
            remains = drawn(rng.randrange(1, 6))
            add("above", decodes, remains, decodes + sum(remains) + spare)
    for decodes in (1, 2, rng.randrange(3, 9)):
        add("cut", decodes, [20, 5], decodes + 14)
        add("cut", decodes, [5, 20, 2], decodes + 5 + rng.randrange(1, 20))
        add("cut", decodes, [1, 2], decodes + 1)  # ends with a prompt's last token
        remains = drawn(5)
        add("cut", decodes, remains, decodes + sum(remains[:3]) + rng.randrange(1, remains[3] + 1))
    for lack in (0, 0, 1, 2, rng.randrange(3, 6)):
        decodes = lack + rng.randrange(1, 5)
        add("used_up", decodes, drawn(rng.randrange(1, 4)), decodes - lack)
        add("used_up", decodes, [1, *drawn(2)], decodes - lack)
    add("alone", 0, [], 3)
    add("alone", 1, [], 1)
    add("alone", rng.randrange(4, 9), [], 3)
    add("alone", 0, [1], 1)
    add("alone", 0, [50, 9, 6], 16)
    add("alone", 0, [9, 50, 6], 16)
    for _ in range(4):
        remains = drawn(rng.randrange(2, 7))
        add("alone", 0, remains, rng.randrange(1, sum(remains) + 3))
    return found


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then both lists."""
    decodes, prefill = case["decodes"], [tuple(pair) for pair in case["prefill"]]
    io.emit(io.attempt(target, decodes, prefill, case["budget"]))
    io.emit([decodes, prefill])


# --- Outside again: the checker -----------------------------------------------------------------

Plan = list[list[int]]


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors and types first, then the decodes and their order, then the prompts, then the inputs."""
    if broken := broken_end(expected, got, 5):
        return broken
    due, seen, decodes = expected[0]["value"], got[0]["value"], set(case.data["decodes"])
    if broken := _check_types(seen):
        return broken
    if broken := _check_decodes(due, seen, decodes):
        return broken
    mine = [pair for pair in seen if pair[0] not in decodes]
    right = [pair for pair in due if pair[0] not in decodes]
    if broken := _check_prompts(right, mine, case.data["prefill"]):
        return broken
    if not same(expected[1], got[1]):
        zh, en = "调用之后传入的列表变了。", "A list passed in is changed after the call."
        return Broken(5, {"zh": zh, "en": en})
    return None


def _check_types(seen: Any) -> Broken | None:
    if not isinstance(seen, list) or not all(
        isinstance(pair, list) and len(pair) == 2 and all(is_int(number) for number in pair) for pair in seen
    ):
        zh, en = "返回的不是 `(uid, tokens)` 的列表。", "What is returned is no list of `(uid, tokens)`."
        return Broken(5, {"zh": zh, "en": en})
    return None


def _check_decodes(due: Plan, seen: Plan, decodes: set[int]) -> Broken | None:
    mine = [pair for pair in seen if pair[0] in decodes]
    if {uid for uid, _ in mine} != decodes:
        zh, en = "有正在解码的请求这一步停下了。", "A request that decodes pauses in this step."
        return Broken(1, {"zh": zh, "en": en})
    if any(tokens != 1 for _, tokens in mine) or len(mine) != len(decodes):
        zh = "正在解码的请求得到的不是恰好 1 个 token。"
        en = "A request that decodes does not get exactly 1 token."
        return Broken(1, {"zh": zh, "en": en})
    if seen[: len(mine)] != mine:
        zh, en = "有提示排在解码的前面。", "A prompt comes before a decode."
        return Broken(2, {"zh": zh, "en": en})
    if mine != due[: len(mine)]:
        zh, en = "解码没有按 uid 从小到大。", "The decodes are not in ascending uid."
        return Broken(2, {"zh": zh, "en": en})
    return None


def _check_prompts(due: Plan, seen: Plan, waiting: Plan) -> Broken | None:
    if seen == due:
        return None
    if any(tokens < 1 for _, tokens in seen):
        zh, en = "有提示得到的 token 数小于 1。", "A prompt gets fewer than 1 token."
        return Broken(5, {"zh": zh, "en": en})
    if sum(tokens for _, tokens in seen) > sum(tokens for _, tokens in due):
        zh = "提示得到的 token 合起来比应得的多：超出了剩下的预算，或者超出了它们还差的。"
        en = "Together the prompts get more tokens than are due: more than is left, or than they need."
        return Broken(3, {"zh": zh, "en": en})
    if [uid for uid, _ in seen] != [uid for uid, _ in waiting[: len(seen)]]:
        zh, en = (
            "提示不是按给定的次序：有的被跳过，或者被插队。",
            "The prompts are not in the order given: one is skipped, or another goes before it.",
        )
        return Broken(4, {"zh": zh, "en": en})
    zh = "预算还有剩，轮到的提示却没有得到它该得的。"
    en = "Some budget is left, and yet a prompt whose turn it is does not get what is due to it."
    return Broken(4, {"zh": zh, "en": en})


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Mixed mode: a prompt of 50 comes in beside those that decode; budgets that cut often, and that just
    hold all decodes.
    """
    mixed = {"mixed": True}
    chapter = [P(0, 50), P(1, 9), P(2, 6)]
    many = [P(i, 3 + 2 * i) for i in range(6)]
    late = [P(0, 5), P(1, 5), P(3, 30)], [P(3, 30) + P(4, 9), P(2, 4), P(3, 15)]
    return [
        EngineJob("budget 16", [chapter, many], max_extend_tokens=16, scheduler=mixed),
        EngineJob(
            "budget 7, page size 4", [chapter, many], page_size=4, max_extend_tokens=7, scheduler=mixed
        ),
        EngineJob("budget 3", [many, *late], max_extend_tokens=3, scheduler=mixed),
    ]


_RIGHT = """\
def plan_mixed(decode_uids, prefill, token_budget):
    plan = [(uid, 1) for uid in sorted(decode_uids)]
    token_budget -= len(plan)
    for uid, remain in prefill:
        if token_budget <= 0:
            break
        tokens = min(remain, token_budget)
        plan.append((uid, tokens))
        token_budget -= tokens
    return plan
"""
_TAKE = "        tokens = min(remain, token_budget)\n"

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "    token_budget -= len(plan)\n", ""),
        zh="decode 也占本步预算：先扣掉它们，剩下的才给提示。",
        en="Decodes use the step's tokens, too: take them off first, and give the rest to prompts.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, _TAKE, "        if remain > token_budget:\n            continue\n" + _TAKE),
        zh="放不下的提示应切块，不能让后面的插队。",
        en="Cut the prompt that does not fit; order is kept, and no shorter one goes before it.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "sorted(decode_uids)", "sorted(decode_uids)[:token_budget]"),
        zh="运行中的请求不应停：解码再多，也各走一步。",
        en="A running request does not pause here: however many decode, each goes on.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "sorted(decode_uids)", "decode_uids"),
        zh="解码要按 uid 排：给的列表没有次序，各卡必须一样。",
        en="Decodes go by uid: the list given has no order, and all ranks must agree on one.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, _TAKE, "        if remain > token_budget:\n            break\n" + _TAKE),
        zh="放不下时不要放弃：切一块，把剩下的预算用掉。",
        en="Do not give up where it does not fit: cut a piece and use what is left of the budget.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "        if token_budget <= 0:\n            break\n", ""),
        zh="预算用完就停：剩下的是 0 或负数时，提示一个 token 也没有。",
        en="Stop when the budget is used up: with 0 or less left, no prompt gets a token.",
    ),
]
