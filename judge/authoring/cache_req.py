"""What the checkers of 192 and 195 share: how one call of `cache_req` used the cache and left its request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from judge.authoring.sentences import NO_RESULT
from judge.harness.compare import same
from judge.sandbox.tensors import TensorData
from judge.types import Broken


@dataclass
class Step:
    """What one call left: [table, free slots, handle, its length, cached_len], and how it used the cache."""

    state: list[Any]
    names: list[str]
    numbers: list[Any]

    def handles(self, name: str) -> list[Any]:
        """The handles locked, or unlocked, in order."""
        return [number for used, number in zip(self.names, self.numbers, strict=True) if used == name]


def steps_of(emitted: list[Any], also: int = 0) -> list[Step] | None:
    """What a drive emitted, call by call; None when it is not of that form.

    Behind the state and the uses come ``also`` more values, which are left to the caller.
    """
    steps: list[Step] = []
    for entry in emitted:
        if not isinstance(entry, list) or len(entry) != 6 + also or not isinstance(entry[5], list):
            return None
        state, uses = entry[:5], entry[5]
        names, numbers = uses[::2], uses[1::2]
        if len(names) != len(numbers) or not all(isinstance(name, str) for name in names):
            return None
        steps.append(Step(state, names, numbers))
    return steps


def check_uses(step: Step, old: int, new: list[int], finished: bool) -> Broken | None:
    """One insertion, after it ``old`` is unlocked once, and ``new`` is locked if the request goes on."""
    names = step.names
    if names.count("insert") != 1:
        zh = f"一次调用里 `insert_prefix` 被调用了 {names.count('insert')} 次，应当是 1 次。"
        en = f"`insert_prefix` is called {names.count('insert')} times in one call; once is due."
        return Broken(1, {"zh": zh, "en": en})
    if "unlock" in names[: names.index("insert")]:
        zh = "解锁在插入之前：旧前缀可能已被淘汰。"
        en = "unlock came before insert: the old prefix may be gone."
        return Broken(1, {"zh": zh, "en": en})
    if not same([old], step.handles("unlock")):
        zh = "插入之后没有恰好解锁一次 `old`，它锁着的页不再能被淘汰。"
        en = "`old` is not unlocked exactly once after the insertion; what it locks can never be evicted."
        return Broken(1, {"zh": zh, "en": en})
    if same(new, step.handles("lock")):
        return None
    if finished:
        zh = "请求已经结束，却还锁着一个句柄，这些页不再能被淘汰。"
        en = "The request is finished, and yet it locks a handle: these pages can never be evicted."
    else:
        zh = "请求还要继续，`new` 却没有恰好上锁一次：它用着的 KV 可能被淘汰。"
        en = "The request goes on, but `new` is not locked exactly once: KV in use may be evicted."
    return Broken(2, {"zh": zh, "en": en})


def check_insert(due: list[TensorData], inserts: list[list[TensorData]]) -> Broken | None:
    """Compare what the cache took: whole pages of tokens, and the locations of those that it did not hold.

    ``inserts`` is empty where a box only pretended to insert.
    """
    if not inserts:
        return Broken(1, NO_RESULT)
    new = inserts[0]
    count, right = new[0].shape[0], due[0].shape[0]
    if count != right:
        zh, en = ("少", "Fewer") if count < right else ("多", "More")
        zh = f"插入的 token 比算好的{zh}：应为 [0, req.cached_len)。"
        en = f"{en} tokens are inserted than are computed: [0, req.cached_len) is due."
        return Broken(1, {"zh": zh, "en": en})
    if new != due:
        zh = "插入的 token 或位置不是这个请求的 [0, req.cached_len)。"
        en = "The tokens or locations inserted are not [0, req.cached_len) of this request."
        return Broken(1, {"zh": zh, "en": en})
    return None


def check_request(due: list[Any], seen: list[Any], finished: bool) -> Broken | None:
    if not finished and not same(due[2:4], seen[2:4]):
        zh = "请求还要继续，持有的却不是 `new`。"
        en = "The request goes on, but the handle that it holds is not `new`."
        return Broken(2, {"zh": zh, "en": en})
    if not same(due[4], seen[4]):
        zh = "`req.cached_len` 变了；这里只改 `req.cache_handle`。"
        en = "`req.cached_len` is changed; only `req.cache_handle` is to."
        return Broken(2, {"zh": zh, "en": en})
    return None
