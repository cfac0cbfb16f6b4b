"""Hidden tests of 205 `overlap_finish`."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.overlap_box import overlap_world
from judge.authoring.overlap_world import Difference, difference, request, script
from judge.authoring.sentences import NO_RESULT
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("length", "到 max_tokens 为止", "up to max_tokens"),
    Group("eos", "EOS 提前结束", "an early end by EOS"),
    Group("mixed", "几个请求混在一起", "several requests together"),
    Group("chunks", "分块的提示与混合批", "chunked prompts and mixed batches"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 36 runs of the overlap loop, to their end."""
    found: list[Case] = []

    def add(group: str, *requests: dict[str, Any], **more: Any) -> None:
        found.append(Case(group, script(rng, list(requests), **more)))

    for output in (1, 2, 3, 4):
        add("length", request(rng, output))
        add("length", request(rng, output), request(rng, 3), logprobs=output == 2)
    add("length", request(rng, 5, eos=1, ignore_eos=True))
    for output, eos in ((2, 0), (3, 0), (4, 1), (4, 2), (3, 2), (1, 0)):
        add("eos", request(rng, output, eos=eos))
        add("eos", request(rng, output, eos=eos), request(rng, rng.randrange(3, 6), arrives=rng.randrange(2)))
    for _ in range(4):
        several = [_any(rng, arrives=rng.randrange(4)) for _ in range(3)]
        add("mixed", _any(rng), request(rng, 4), *several, logprobs=rng.random() < 0.5)
    add("mixed", request(rng, 5, fails=1), request(rng, 4, eos=1))
    add("mixed", request(rng, 3, fails=0), request(rng, 2, eos=0), request(rng, 3, fails=2, arrives=1))
    add("mixed", request(rng, 5, aborted=[2]), request(rng, 4, eos=2), request(rng, 3))
    for mixed in (False, True, True):
        add("chunks", request(rng, 3, prompt=9), request(rng, 4, prompt=3, eos=1), budget=4, mixed=mixed)
        long = request(rng, 2, prompt=rng.randrange(7, 12), arrives=1)
        add("chunks", request(rng, 5), request(rng, 5, eos=2), long, budget=5, mixed=mixed)
    return found


def _any(rng: random.Random, **more: Any) -> dict[str, Any]:
    """A request of 1 to 4 tokens that may end earlier."""
    output = rng.randrange(1, 5)
    eos = rng.choice((-1, rng.randrange(output)))
    return request(rng, output, eos=eos, ignore_eos=rng.random() < 0.2, **more)


# --- In the box -----------------------------------------------------------------------------------

DRIVE_USES = [overlap_world]


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """An overlap loop: what each step is answered, frees and caches, and the texts so far."""
    overlap_world(case, "_process_last_data", target, io)


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """The texts first, as they say what is wrong with a message; then the first entry that differs."""
    found = difference(_words(expected, "reply", "text"), _words(got, "reply", "text"))
    found = found or difference(expected, got)
    if found is None:
        return None
    zh, en, rule = _why(found, expected)
    return Broken(rule, {"zh": zh, "en": en})


def _words(emitted: list[Any], *words: str) -> list[Any]:
    """The loops with these entries alone; what has no such form stays as it is."""
    kept = []
    for loop in emitted:
        if isinstance(loop, list) and len(loop) == 2 and isinstance(loop[0], list):
            entries = [e for e in loop[0] if not (isinstance(e, list) and e and e[0] not in words)]
            loop = [entries, None]
        kept.append(loop)
    return kept


def _why(found: Difference, expected: list[Any]) -> tuple[str, str, int]:
    due, seen = found.words
    if "reply" in (due, seen):
        return _reply(found)
    if due == seen == "text":
        zh = "一个请求的 `input_ids` 不是它得到的那些 token：结束之后的也接上了，或者漏了、错了。"
        en = "The `input_ids` of a request are not the tokens it got: one after its end is appended, or one"
        return zh, en + " is missing or wrong.", 3
    if "synchronize" in (due, seen):
        zh = "结果的拷贝还没有完成就读了：要先 `copy_done_event.synchronize()`。"
        en = "The results are read before their copy is done: `copy_done_event.synchronize()` comes first."
        return zh, en, 1
    if "done" in (due, seen):
        zh, en = "`_batch_done()` 没有恰好调用一次，排在结束请求之前。", "`_batch_done()` is not called once,"
        return zh, en + " before requests are ended.", 1
    if "lazy" in (due, seen):
        zh = "释放没有都放在一个 `lazy_free_region()` 里。"
        en = "Not all that is freed is freed inside one `lazy_free_region()`."
        return zh, en, 1
    if "handled" in (due, seen):
        zh = "`finished_reqs` 不是这一步结束的那些请求。"
        en = "`finished_reqs` does not hold the requests that this step has ended."
        return zh, en, 7
    if "end" in (due, seen) or "ended" in (due, seen):
        zh = "结束的请求没有恰好释放一次，或者释放了没有结束的。"
        en = "An ended request is not freed exactly once, or one that goes on is freed."
        return zh, en, 6
    if "cache" in (due, seen):
        zh = "预填充之后还要继续的请求，没有恰好交给缓存一次；或者不该交的交了。"
        en = "A request that goes on after its prefill is not handed to the cache once, or another one is."
        return zh, en, 6
    if "forget" in (due, seen) or "send" in (due, seen):
        zh, en = "消息没有用一次 `send_result` 全部发出。", "The messages are not sent by one `send_result`."
        return zh, en, 5
    if "now" in (due, seen):
        zh = "结束的请求还在 `decode_manager` 里，或者行没有还清。"
        en = "An ended request is still in the `decode_manager`, or rows are missing."
        return zh, en, 6
    return NO_RESULT["zh"], NO_RESULT["en"], 5


def _reply(found: Difference) -> tuple[str, str, int]:
    due, seen = found.due, found.seen
    if found.words != ("reply", "reply") or due[1:2] != seen[1:2]:
        if found.words[0] == "reply":
            zh = "有一个请求的 token 没有发出去，或者次序不对。"
            en = "A request's token is not sent, or the order is another."
            return zh, en, 5
        zh = "一个请求早已结束，又收到了一条消息。"
        en = "A request that has ended is sent one more message."
        return zh, en, 2
    if due[2:3] != seen[2:3]:
        zh, en = (
            "消息里的 token 不是采样得到的那个。",
            "The token of a message is not the one that was sampled.",
        )
        return zh, en, 5
    if due[3] is False and seen[3:4] == [True]:
        zh = "一个请求结束得太早：它还没有收满 token，也没有遇到 EOS。"
        en = "A request is ended too early: it lacks tokens still, and there was no EOS."
        return zh, en, 4
    if due[3] is True and seen[3:4] == [False]:
        zh, en = (
            "最后一个 token 发出去了，请求却没有结束。",
            "The last token is sent; the request goes on.",
        )
        return zh, en, 4
    zh = "消息里的结束原因或对数概率不对。"
    en = "The reason or the log-probability in a message is wrong."
    return zh, en, 5


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Overlapped: the default runs, short requests, and prompts in chunks beside running requests."""
    on = {"overlap": True}
    mixed = [[P(0, 5), P(1, 20), P(2, 9)], [P(0, 5), P(3, 7)]]
    return [
        *default_jobs(**on),
        EngineJob(name="one token each", calls=default_jobs()[0].calls[:1], max_tokens=1, scheduler=on),
        EngineJob(name="mixed", calls=mixed, max_extend_tokens=8, scheduler={**on, "mixed": True}),
    ]


_STARTER = (Path(__file__).parents[2] / "chapters/exercises/205_overlap_finish/starter.py").read_text("utf-8")
_EARLY = '    return None if req.can_decode else "length"\n'
_FULL = '    return "length" if req.input_ids.numel() >= req.max_device_len else None\n'
_SKIP = "            if isinstance(req, ChunkedReq):\n"
_STALE = "            if isinstance(req, ChunkedReq) or req in self.finished_reqs:\n"
_APPEND = "            req.append_host(next_tokens[i])\n"
_LENGTH = instead(_STARTER, _EARLY, _FULL)
_RIGHT = instead(instead(_LENGTH, _SKIP, _STALE), " and req not in self.finished_reqs:\n", ":\n")

MUTANTS = [
    Mutant(
        "a",
        "starter",
        zh="`can_decode` 超前一步，少一个 token。而且不止这一处。",
        en="`can_decode` is a step ahead: one token too few. And this is not all.",
    ),
    Mutant(
        "b",
        _LENGTH,
        zh="请求已结束，不能再回复：这一行在上一步就完了，跳过它。",
        en="The request ended a step ago and is still replied to: skip its row.",
    ),
    Mutant(
        "c",
        instead(
            instead(_RIGHT, _APPEND, ""),
            _STALE,
            "            if not isinstance(req, ChunkedReq) and token != NO_TOKEN:\n    " + _APPEND + _STALE,
        ),
        zh="要在追加之前跳过：结束之后的 token 接到了 `input_ids` 上。",
        en="Skip before `append_host`: a token after the end was appended to `input_ids`.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, _FULL, _EARLY),
        zh="结束与否仍看 `can_decode`，它超前一步，少一个 token。",
        en="The end is still taken from `can_decode`, a step ahead: one token too few.",
    ),
    Mutant(
        "e",
        instead(
            _RIGHT, _FULL, '    return "length" if req.input_ids.numel() > req.max_device_len else None\n'
        ),
        zh="`input_ids` 已有 `max_device_len` 个就结束，不必等到超过。",
        en="The end is there when `input_ids` has `max_device_len` tokens, not when it has more.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "    self.finished_reqs = ended\n", "    self.finished_reqs |= ended\n"),
        zh="`finished_reqs` 只留这一步结束的：更早的不会再出现在批里。",
        en="`finished_reqs` holds those of this step alone: no batch has an older one.",
    ),
]
