"""Hidden tests of 199 `match_req`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, outcome, refuse
from judge.authoring.tensors import int32, int32_raw, is_int32
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("all_hit", "整个提示都在缓存里", "all of the prompt is cached"),
    Group("part", "命中一部分，或者没有命中", "a part is cached, or nothing"),
    Group("short", "一个 token，或者没有", "one token, or none"),
]
_MOST_MATCHES = 8

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 24 prompts; page sizes 1, 4 and 16."""
    found: list[Case] = []

    def add(group: str, size: int, length: int, cached: int) -> None:
        """The first ``cached`` tokens of the prompt are in the cache, and some that follow no prompt."""
        ids = [rng.randrange(500) for _ in range(length)]
        known = ids[:cached] + [rng.randrange(500, 512) for _ in range(3 * size)]
        places = rng.sample(range(1000), len(known) // size * size)
        data = {"page_size": size, "ids": int32(ids), "uid": rng.randrange(100)}
        found.append(Case(group, data, outside=(known, places, rng.randrange(1, 1 << 30))))

    for size in (1, 4, 16):
        for length in (2, size * rng.randrange(2, 5), size * rng.randrange(2, 5) + 1, rng.randrange(20, 70)):
            add("all_hit", size, length, length)
        length = rng.randrange(2 * size, 70) + 2
        add("part", size, length, length - 1)
        add("part", size, length, rng.randrange(size, length))
        add("part", size, length, 0)
        add("short", size, 1, 1)
    add("short", rng.choice((1, 4)), 1, 0)
    add("short", rng.choice((1, 4)), 0, 0)
    return found


class PrefixCache:
    """Answers matches from one cached sequence; its handle has a number that nobody can guess."""

    def __init__(self, case: Case) -> None:
        self._known, self._places, self._number = case.outside
        self._size = case.data["page_size"]
        self._asked: list[TensorData] = []

    def match(self, ids: Any) -> list[Any]:
        """Number and locations of the handle."""
        if not is_int32(ids, 1):
            zh = "`match_prefix` 要 int32 一维张量。"
            refuse(2, zh, "`match_prefix` takes an int32 tensor [n].")
        if len(self._asked) >= _MOST_MATCHES:
            refuse(3, "一次调用里匹配了许多次。", "The prompt is matched many times in one call.")
        self._asked.append(int32_raw(ids.raw))
        common = 0
        for one, other in zip(ids.tolist(), self._known, strict=False):
            if one != other:
                break
            common += 1
        return [self._number + len(self._asked), int32(self._places[: common // self._size * self._size])]

    def report(self) -> list[TensorData]:
        """What was asked, in order."""
        return self._asked


trusted = PrefixCache

# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call: the number of the handle that came back, or the error; then the request."""
    from minisgl.kvcache import MatchResult

    class Cache:
        def match_prefix(self, input_ids):
            number, places = io.call("match", input_ids)
            handle = io.obj(number=number, cached_len=len(places), get_matched_indices=places.clone)
            return MatchResult(handle)

    req = io.obj(uid=case["uid"], input_ids=case["ids"], input_len=len(case["ids"]))
    outcome = io.attempt(target, io.obj(prefix_cache=Cache(), page_size=case["page_size"]), req)
    value = outcome.get("value")
    if isinstance(value, tuple) and len(value) == 1:
        outcome["value"] = getattr(value[0], "number", None)
    elif "value" in outcome:
        outcome["value"] = "None" if value is None else "no MatchResult"
    io.emit(outcome)
    io.emit([req.uid, req.input_ids, req.input_len])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """An error or none, then what was matched, what came back, and the request."""
    if len(got) != len(expected) or not isinstance(got[2], list):
        return Broken(3, NO_RESULT)
    if "value" in expected[0] and isinstance(got[0], dict) and got[0].get("value") == "None":
        zh, en = "返回的是 None；空匹配也是一个句柄。", "None is returned; an empty match is a handle, too."
        return Broken(3, {"zh": zh, "en": en})
    if text := outcome(expected[0], got[0]):
        return Broken(1 if "error" in expected[0] else 3, text)
    if broken := _check_asked(case.data["page_size"], expected[2], got[2]):
        return broken
    if not same(expected[0], got[0]):
        zh = "返回的不是 `match_prefix` 给出的结果。"
        return Broken(3, {"zh": zh, "en": "What is returned is not the result of `match_prefix`."})
    if not same(expected[1], got[1]):
        return Broken(4, {"zh": "请求被改动了。", "en": "The request is changed."})
    return None


def _check_asked(size: int, due: list[TensorData], asked: list[TensorData]) -> Broken | None:
    """What was cut to whole pages before is matched in the same way."""
    if not due and asked:
        zh, en = "提示是空的，却去问了缓存。", "The prompt is empty, and yet the cache is asked."
        return Broken(1, {"zh": zh, "en": en})
    if len(asked) != len(due):
        zh = f"一次调用里匹配了 {len(asked)} 次，应当是 1 次。"
        en = f"The prompt is matched {len(asked)} times in one call; once is due."
        return Broken(3, {"zh": zh, "en": en})
    for right, mine in zip(due, asked, strict=True):
        if mine.shape[0] > right.shape[0]:
            zh = "连最后一个 token 也拿去匹配：都命中了，就没有 token 可算。"
            en = "The last token is matched, too: if all of it is hit, no token is left to compute."
            return Broken(2, {"zh": zh, "en": en})
        if mine.shape[0] // size < right.shape[0] // size:
            zh, en = "不只留下一个 token：命中会变短。", "More than one token is left out: hits get shorter."
            return Broken(2, {"zh": zh, "en": en})
        if right.tolist()[: mine.shape[0]] != mine.tolist():
            zh = "拿去匹配的不是提示开头的那些 token。"
            return Broken(2, {"zh": zh, "en": "What is matched is not the beginning of the prompt."})
    return None


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """The default runs, where a prompt comes twice; whole pages of one, and a prompt of one token."""
    again = [[P(0, 16)], [P(0, 16)], [P(0, 17)], [P(5, 1)], [P(5, 1)]]
    return [*default_jobs(), EngineJob(name="whole pages, and one token", calls=again, page_size=4)]


_STARTER = (Path(__file__).parents[2] / "chapters/exercises/199_match_req/starter.py").read_text("utf-8")
_RIGHT = instead(_STARTER, "(req.input_ids)", "(req.input_ids[: req.input_len - 1])")
_ONE = "    if req.input_len == 1:\n        return None\n"

MUTANTS = [
    Mutant(
        "a",
        "starter",
        zh="全部命中就没有 logits 可算：最后一个 token 总要自己算。",
        en="All is hit and nothing left to compute, so there are no logits: leave the last token out.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "req.input_len - 1]", "max(req.input_len - self.page_size, 0)]"),
        zh="只留一个 token，不是一页；取整由 `match_prefix` 来做。",
        en="Leave one token, not a page; `match_prefix` does the rounding.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "    return self", _ONE + "    return self"),
        zh="空匹配也要返回句柄：后面要读它的长度，还要给它上锁。",
        en="An empty match is still a handle: its length is read, and it is locked.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "    if req.input_len == 0:", "    if req.input_len < 0:"),
        zh="空的提示没有最后一个 token，谁也算不出它的下一个：要报错。",
        en="An empty prompt has no last token, and nobody can tell what follows: that is an error.",
    ),
]
