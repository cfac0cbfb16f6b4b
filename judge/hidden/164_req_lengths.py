"""Hidden tests of 164 `req_lengths`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, is_int
from judge.authoring.tensors import int32, is_int32
from judge.harness.compare import same
from judge.types import Broken, Case, Group, Mutant, Text

GROUPS = [
    Group("admitted", "刚接纳", "just admitted"),
    Group("steps", "一步接一步，直到写满", "step by step to the end"),
    Group("lagging", "CPU 落后几步", "the CPU lags behind"),
    Group("host", "只往 CPU 上接", "joined on the CPU alone"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 24 requests; a script holds -1 for ``complete_one``, else a token for ``append_host``."""
    found: list[Case] = []

    def add(group: str, prompt: int, hit: int, output: int, script: list[int]) -> None:
        ids = int32(rng.randrange(512) for _ in range(prompt))
        found.append(Case(group, {"ids": ids, "hit": hit, "output": output, "script": script}))

    def step() -> list[int]:
        return [-1, rng.randrange(512)]

    for prompt, hit, output in ((1, 0, 1), (2, 1, 1), (6, 2, 3), (rng.randrange(8, 30), 7, 2)):
        add("admitted", prompt, hit, output, [])
        add("admitted", prompt, hit, output, [-1])
    for output in (1, 2, 3, rng.randrange(4, 7)):
        prompt = rng.randrange(1, 12)
        hit = rng.randrange(prompt)
        add("steps", prompt, hit, output, [code for _ in range(output) for code in step()])
        add("steps", prompt, 0, output, [code for _ in range(output) for code in step()])
    for output, ahead in ((2, 2), (4, 2), (5, 3), (6, rng.randrange(2, 6))):
        tokens = [rng.randrange(512) for _ in range(output - ahead)]
        script = [-1] * ahead + [code for token in tokens for code in (token, -1)]
        add("lagging", rng.randrange(2, 9), 1, output, script + [rng.randrange(512)] * ahead)
    for count in (1, 2, rng.randrange(3, 9), 40):  # the longest outgrows what is set aside at first
        add("host", rng.randrange(2, 5), 1, count, [rng.randrange(512) for _ in range(count)])
    add("host", rng.randrange(20, 40), 3, 2, [0, 0])
    return found


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """The lengths and the tokens at first and after each call; last, what was handed out before."""
    import inspect

    import torch

    from minisgl.core import Req

    names = ("extend_len", "remain_len", "can_decode", "complete_one", "append_host")
    kind = type("Req", (Req,), {name: inspect.getattr_static(target, name) for name in names})
    req = kind(case["ids"], 0, case["hit"], case["output"], 0, None, None)
    taken = []
    for code in [None, *case["script"]]:
        if code == -1:
            req.complete_one()
        elif code is not None:
            taken.append(req.input_ids)
            token = torch.tensor([code], dtype=torch.int32)
            req.append_host(token)
            token.fill_(-1)  # the buffer that it came in is used again
        lengths = [req.cached_len, req.device_len, req.max_device_len]
        io.emit([lengths, req.extend_len, req.remain_len, req.can_decode, req.input_ids])
    io.emit(taken)


# --- Outside again: the checker -----------------------------------------------------------------

_MARKS: tuple[tuple[int, Text], ...] = (
    (
        4,
        {
            "zh": "`cached_len` 不是调用之前的 `device_len`。",
            "en": "`cached_len` is not what `device_len` was before the call.",
        },
    ),
    (4, {"zh": "`device_len` 没有正好加 1。", "en": "`device_len` does not grow by exactly 1."}),
    (4, {"zh": "`max_device_len` 变了。", "en": "`max_device_len` is changed."}),
)


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Step by step: first the marks, then what is derived from them, then the tokens."""
    if len(got) != len(expected) or not all(isinstance(step, list) for step in got):
        return Broken(6, NO_RESULT)
    for number, (due, seen) in enumerate(zip(expected[:-1], got[:-1], strict=True)):
        if len(seen) != len(due) or not isinstance(seen[0], list) or len(seen[0]) != len(due[0]):
            return Broken(6, NO_RESULT)
        appended = number > 0 and case.data["script"][number - 1] != -1
        broken = _check_marks(due[0], seen[0], appended) or _check_derived(due, seen)
        if broken := broken or _check_tokens(due[4], seen[4]):
            return broken
    if not same(expected[-1], got[-1]):
        zh = "先前取走的 `input_ids` 跟着变了。"
        en = "An `input_ids` that somebody took before is changed, too."
        return Broken(5, {"zh": zh, "en": en})
    return None


def _check_marks(due: list[int], seen: list[Any], appended: bool) -> Broken | None:
    if same(due, seen):
        return None
    if appended:
        zh, en = "`append_host` 改动了三个长度。", "`append_host` changes one of the three lengths."
        return Broken(5, {"zh": zh, "en": en})
    rule, text = next(
        mark for mark, one, other in zip(_MARKS, due, seen, strict=True) if not same(one, other)
    )
    return Broken(rule, text)


def _check_derived(due: list[Any], seen: list[Any]) -> Broken | None:
    for place, name in ((1, "extend_len"), (2, "remain_len")):
        if not is_int(seen[place]):
            zh, en = f"`{name}` 读出来不是 int。", f"`{name}` does not read as an int."
            return Broken(6, {"zh": zh, "en": en})
        if seen[place] != due[place]:
            zh = f"`{name}` 不是两个记号之间的距离。"
            en = f"`{name}` is not the distance of its two marks."
            return Broken(place, {"zh": zh, "en": en})
    if type(seen[3]) is not bool:
        return Broken(
            6, {"zh": "`can_decode` 读出来不是 bool。", "en": "`can_decode` does not read as a bool."}
        )
    if seen[3] and not due[3]:
        zh, en = "已经写满，`can_decode` 还是真。", "All tokens are written, and `can_decode` is still true."
        return Broken(3, {"zh": zh, "en": en})
    if due[3] and not seen[3]:
        zh, en = "还没写满，`can_decode` 却是假。", "Tokens are still due, and yet `can_decode` is false."
        return Broken(3, {"zh": zh, "en": en})
    return None


def _check_tokens(due: Any, seen: Any) -> Broken | None:
    if not is_int32(seen, 1):
        zh, en = "`input_ids` 不再是一维的 int32 张量。", "`input_ids` is not an int32 tensor [n] any more."
        return Broken(5, {"zh": zh, "en": en})
    if not same(due, seen):
        zh = "`input_ids` 不是原来的 token 后面接上新的。"
        en = "`input_ids` is not the tokens of before followed by the new one."
        return Broken(5, {"zh": zh, "en": en})
    return None


# --- Mutants ------------------------------------------------------------------------------------

_RIGHT = """\
import torch


class Req:
    @property
    def extend_len(self):
        return self.device_len - self.cached_len

    @property
    def remain_len(self):
        return self.max_device_len - self.device_len

    @property
    def can_decode(self):
        return self.remain_len > 0

    def complete_one(self):
        self.cached_len = self.device_len
        self.device_len += 1

    def append_host(self, next_token):
        self.input_ids = torch.cat([self.input_ids, next_token])
"""
_STEP = "        self.cached_len = self.device_len\n        self.device_len += 1\n"

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, _STEP, "        self.device_len += 1\n        self.cached_len = self.device_len\n"),
        zh="应先把旧的 device_len 赋给 cached_len：新采样的 token 还没有 KV。",
        en="cached_len takes the old device_len: the token just sampled has no KV yet.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "self.max_device_len - self.device_len", "self.max_device_len - len(self.input_ids)"),
        zh="CPU 副本会滞后，要用 device_len。",
        en="The CPU copy lags; use device_len.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "self.remain_len > 0", "self.remain_len >= 0"),
        zh="等于 0 就该停，不然会多生成一个 token。",
        en="At 0 it is done; one token too many would be generated.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, _STEP, "        self.cached_len += 1\n        self.device_len += 1\n"),
        zh="预填充一次算完多个 token，cached_len 不止加 1。",
        en="A prefill computes many tokens at once: cached_len grows by more than 1.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, "next_token])", "torch.tensor([int(next_token)])])"),
        zh="torch.tensor 默认是 int64，接上之后整个 input_ids 都变成 int64。",
        en="torch.tensor makes int64, and joined to it, all of input_ids becomes int64.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "self.device_len - self.cached_len", "len(self.input_ids) - self.cached_len"),
        zh="这次算几个，也要看 device_len：新 token 可能还没抄到 CPU。",
        en="What is computed now depends on device_len, too: the new token may not be on the CPU yet.",
    ),
]
