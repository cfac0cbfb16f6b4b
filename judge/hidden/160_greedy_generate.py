"""Hidden tests of 160 `greedy_generate`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, is_int, outcome, refuse
from judge.harness.compare import same
from judge.jobs import P
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("going_on", "没有 eos，写满为止", "no eos, to the last token"),
    Group("eos", "eos 在第一个、后面或者不出现", "the eos first, later or never"),
    Group("ties", "一样大的 logits", "equal logits"),
    Group("smallest", "一个也不写，或者提示为空", "nothing to write, or an empty prompt"),
]
_VOCAB = 9
_MOST_CALLS = 24  # no case asks for more than 7

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 30 calls: prompts of 1 to 6 tokens, 0 to 6 new ones; what the model says is drawn beforehand."""
    found: list[Case] = []

    def add(group: str, prompt: int, tokens: list[int], max_new: int, eos: int | None, ties: int = 0) -> None:
        script = [_logits(rng, token, ties) for token in [*tokens, rng.randrange(_VOCAB)]]
        ids = [rng.randrange(_VOCAB) for _ in range(prompt)]
        found.append(Case(group, {"prompt": ids, "max_new": max_new, "eos": eos}, outside=script))

    def drawn(count: int, without: int | None = None) -> list[int]:
        return [rng.choice([t for t in range(_VOCAB) if t != without]) for _ in range(count)]

    for prompt, count in ((1, 1), (1, 2), (2, 3), (6, 1), (rng.randrange(2, 7), rng.randrange(2, 7))):
        add("going_on", prompt, drawn(count), count, None)
        add("going_on", prompt, drawn(6), 6, None)
    for eos in (0, rng.randrange(1, _VOCAB)):
        add("eos", rng.randrange(1, 5), [eos], 4, eos)
        add("eos", rng.randrange(1, 5), [eos], 1, eos)
        for before in (1, rng.randrange(2, 5)):
            add("eos", rng.randrange(1, 5), [*drawn(before, eos), eos], 6, eos)
            add("eos", rng.randrange(1, 5), [*drawn(before, eos), eos], before + 1, eos)
        add("eos", rng.randrange(1, 5), drawn(3, eos), 3, eos)
    for count in (1, 3, rng.randrange(4, 7)):
        add("ties", rng.randrange(1, 5), [rng.randrange(_VOCAB - 3) for _ in range(count)], count, None, 1)
        add("ties", rng.randrange(1, 5), [rng.randrange(_VOCAB - 3) for _ in range(count)], count, None, 2)
    add("ties", 2, [1, 3, 0], 5, 0, 1)
    for prompt in (1, rng.randrange(2, 7)):
        add("smallest", prompt, [], 0, None)
        add("smallest", prompt, [], 0, rng.randrange(_VOCAB))
    for max_new in (0, 1, 4):
        add("smallest", 0, drawn(4), max_new, None)
    return found


def _logits(rng: random.Random, best: int, ties: int) -> list[float]:
    """Logits whose largest is at ``best``, and again at ``ties`` higher ids; now and then all negative."""
    top = rng.choice((rng.uniform(1, 8), rng.uniform(-3, -1)))
    values = [top - rng.uniform(0.01, 6) for _ in range(_VOCAB)]
    for token in [best, *rng.sample(range(best + 1, _VOCAB), min(ties, _VOCAB - 1 - best))]:
        values[token] = top
    return values


class Model:
    """Answers call after call with the logits drawn for it, and keeps the calls."""

    def __init__(self, case: Case) -> None:
        self._script: list[list[float]] = case.outside
        self._calls: list[list[Any]] = []

    def forward(self, ids: Any, start: Any) -> list[float]:
        """Logits, ids being anything that a box sends."""
        if not isinstance(ids, list) or not ids or not all(is_int(token) for token in ids):
            en = "What is fed to `forward` is not a list of at least one token id."
            refuse(3, "喂给 `forward` 的不是非空的 token 编号列表。", en)
        if not is_int(start) or len(self._calls) >= _MOST_CALLS or len(ids) > 64:
            en = "`start` is not an int, or `forward` is called or fed far beyond what is due."
            refuse(3, "`start` 不是 int，或者调用的次数、喂的 token 远远超出需要。", en)
        self._calls.append([ids, start])
        return self._script[min(len(self._calls), len(self._script)) - 1]

    def report(self) -> list[list[Any]]:
        """Every call in order: ids and start."""
        return self._calls


trusted = Model

# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the prompt. The calls of forward are kept outside."""

    def forward(ids, start):
        return io.call("forward", ids, start)

    io.emit(io.attempt(target, forward, case["prompt"], case["max_new"], case["eos"]))
    io.emit(case["prompt"])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Call by call first; then how many calls, then the result, then the prompt."""
    if len(got) != len(expected):
        return Broken(7, NO_RESULT)
    if "error" in expected[0] and (text := outcome(expected[0], got[0])):
        return Broken(1, text)
    due, seen = expected[2], got[2]
    for number, (right, mine) in enumerate(zip(due, seen, strict=False), start=1):
        if broken := _check_call(number, right, mine):
            return broken
    stopped_by_eos = len(due) > len(expected[0].get("value", due))
    if len(seen) > len(due):
        return _too_many(case, stopped_by_eos)
    if text := outcome(expected[0], got[0]):
        return Broken(7, text)
    if len(seen) < len(due):
        zh, en = "还没写满，也没有选出 eos，就停下了。", "It stops although tokens are due and no eos came."
        return Broken(5, {"zh": zh, "en": en})
    if "value" in expected[0] and (broken := _check_value(expected[0]["value"], got[0]["value"])):
        return broken
    if not same(expected[1], got[1]):
        return Broken(7, {"zh": "调用之后 `prompt` 变了。", "en": "`prompt` is changed after the call."})
    return None


def _check_call(number: int, due: list[Any], seen: list[Any]) -> Broken | None:
    if same(due, seen):
        return None
    if number == 1:
        zh, en = "第一次调用不是 `forward(prompt, 0)`。", "The first call is not `forward(prompt, 0)`."
        return Broken(2, {"zh": zh, "en": en})
    if len(seen[0]) != 1:
        zh = f"第 {number} 次调用喂了 {len(seen[0])} 个 token，应当只喂一个。"
        en = f"Call number {number} feeds {len(seen[0])} tokens; just one is due."
        return Broken(3, {"zh": zh, "en": en})
    if not same(due[0], seen[0]):
        zh = f"第 {number} 次喂的不是上一次 logits 最大、编号最小的 token。"
        en = f"Call number {number} does not feed the lowest id of the largest logit before it."
        return Broken(4, {"zh": zh, "en": en})
    zh = f"第 {number} 次调用的 `start` 不是已经喂过的 token 数。"
    en = f"`start` of call number {number} is not the number of tokens fed so far."
    return Broken(3, {"zh": zh, "en": en})


def _too_many(case: Case, stopped_by_eos: bool) -> Broken:
    if not case.data["prompt"]:
        zh, en = "提示是空的，却还是做了前向。", "The prompt is empty, and yet a forward runs."
        return Broken(1, {"zh": zh, "en": en})
    if stopped_by_eos:
        zh, en = "选出 eos 之后还在继续。", "It goes on after the eos was chosen."
        return Broken(5, {"zh": zh, "en": en})
    zh, en = "多做了一次前向，它的 logits 没有人用。", "One forward too many runs: nobody uses its logits."
    return Broken(6, {"zh": zh, "en": en})


def _check_value(due: list[int], seen: Any) -> Broken | None:
    if same(due, seen):
        return None
    if not isinstance(seen, list) or not all(is_int(token) for token in seen):
        zh, en = "返回的不是 token 编号的列表。", "What is returned is not a list of token ids."
        return Broken(7, {"zh": zh, "en": en})
    if len(seen) == len(due):
        zh = "结果里有一个 token 不是 logits 最大、编号最小的那个。"
        en = "A token of the result is not the lowest id of the largest logit."
        return Broken(4, {"zh": zh, "en": en})
    if len(seen) == len(due) + 1:
        zh, en = "结果多了一个 token：eos 不放进去。", "The result has one token more: leave the eos out."
        return Broken(5, {"zh": zh, "en": en})
    zh, en = "结果里不是所有的新 token，或者不只是它们。", "The result is not just all of the new tokens."
    return Broken(7, {"zh": zh, "en": en})


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Three prompts in the one-file engine, one token and more, and a call of its own for a longer one."""
    return [
        EngineJob(name="three prompts", calls=[[P(0, 5), P(1, 9), P(2, 1)]], max_tokens=12),
        EngineJob(name="one token each", calls=[[P(3, 7), P(4, 2)], [P(5, 30)]], max_tokens=1),
    ]


_RIGHT = reference(__file__)
_NEXT = "        ids, start = [token], start + len(ids)\n"

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, _NEXT, "        ids, start = prompt + new, 0\n"),
        zh="首次之后每次只喂一个新 token，旧的已在缓存里。",
        en="After the first call, feed one token: the others are cached.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, _NEXT, "        ids, start = [token], len(prompt) + len(new)\n"),
        zh="位置等于已喂入的 token 数，刚选出的那个还没有喂。",
        en="The position is the number of tokens already fed; the one just chosen is not yet among them.",
    ),
    Mutant(
        "c",
        instead(
            instead(
                instead(_RIGHT, "    while len(new)", "    logits = forward(ids, start)\n    while len(new)"),
                "        logits = forward(ids, start)\n        token",
                "        token",
            ),
            _NEXT,
            _NEXT + "        logits = forward(ids, start)\n",
        ),
        zh="最后一个 token 不必再算，没有人要它的 logits。",
        en="Nobody reads the logits of the last token: do not run it.",
    ),
    Mutant(
        "d",
        instead(
            _RIGHT,
            "logits.index(max(logits))",
            "max(range(len(logits)), key=lambda i: (logits[i], i))",
        ),
        zh="一样大时取编号最小的。",
        en="Of equal logits take the lowest id.",
    ),
    Mutant(
        "e",
        instead(
            _RIGHT,
            "        if token == eos:\n            break\n        new.append(token)\n",
            "        new.append(token)\n        if token == eos:\n            break\n",
        ),
        zh="先看是不是 eos，再放进结果：eos 不算。",
        en="Look for the eos before you keep the token: the eos does not count.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "if token == eos:", "if eos and token == eos:"),
        zh="编号 0 也可以是 eos；没有 eos 是 None。",
        en="Id 0 may be the eos, too; None means that there is none.",
    ),
]
