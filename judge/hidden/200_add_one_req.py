"""Hidden tests of 200 `_add_one_req`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, is_int
from judge.authoring.tensors import int32
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant, Text

GROUPS = [
    Group("fits", "整个提示放得下", "the whole prompt fits"),
    Group("hit", "命中前缀之后", "behind a prefix that is hit"),
    Group("cut", "预算先用完", "the budget ends first"),
    Group("chunks", "一个提示分几步", "one prompt over several steps"),
    Group("batch", "一批里几个请求", "several requests in one batch"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 30 scripts of one to six calls. A call with a ``budget`` begins a batch: what is reserved starts
    from the beginning, too.
    """
    found: list[Case] = []

    def add(group: str, calls: list[dict[str, Any]], page_size: int) -> None:
        found.append(Case(group, {"calls": calls, "page_size": page_size, "width": 80}))

    def call(prompt: int, cached: int, budget: int | None, **more: int) -> dict[str, Any]:
        begun = {} if budget is None else {"budget": budget, "reserved": rng.choice((0, rng.randrange(50)))}
        return {
            "ids": int32(rng.randrange(1, 500) for _ in range(prompt)),
            "uid": rng.randrange(1, 90),
            "row": rng.randrange(4),
            "cached": cached,
            "output": rng.randrange(1, 12),
            **begun,
            **more,
        }

    for page_size in (1, 4, 16):
        prompt = rng.randrange(2, 30)
        add("fits", [call(prompt, 0, prompt)], page_size)  # fits exactly
        add("fits", [call(prompt, 0, prompt + rng.randrange(1, 30))], page_size)
        hit = rng.randrange(1, 20)
        rest = rng.randrange(1, 20)
        add("hit", [call(hit + rest, hit, rest)], page_size)
        add("hit", [call(hit + rest, hit, hit + rest + rng.randrange(9))], page_size)
        add("cut", [call(prompt, 0, prompt - 1)], page_size)
        add("cut", [call(hit + 20, hit, rng.randrange(1, 20))], page_size)
        add("chunks", _chunks(rng, call, rng.choice((0, hit))), page_size)
        add("batch", _batch(rng, call), page_size)
    add("fits", [call(1, 0, 1)], 1)
    add("hit", [call(9, 8, rng.randrange(1, 9))], 1)
    add("cut", [call(2, 0, 1)], 4)
    add("cut", [call(30, 0, 20)], 1)  # what is left is shorter than the chunk
    add("chunks", _chunks(rng, call, 0, prompt=61, budget=16), 4)
    add("batch", _batch(rng, call), 4)
    return found


def _chunks(
    rng: random.Random, call: Any, cached: int, *, prompt: int = 0, budget: int = 0
) -> list[dict[str, Any]]:
    """A prompt in three pieces and a last one, each in a batch of its own, the last with budget to spare."""
    budget = budget or rng.randrange(3, 12)
    prompt = prompt or cached + 3 * budget + rng.randrange(1, budget)
    first = call(prompt, cached, budget)
    one = {name: first[name] for name in ("ids", "uid", "row", "output", "budget", "reserved")}
    return [{**one, "cached": cached + number * budget} for number in range(4)]


def _batch(rng: random.Random, call: Any) -> list[dict[str, Any]]:
    """Three that fit and one that is cut, in rows of their own."""
    rests = [rng.randrange(1, 9) for _ in range(3)]
    hits = [rng.choice((0, rng.randrange(1, 9))) for _ in range(4)]
    rows = rng.sample(range(4), 4)
    last = rng.randrange(1, 9)
    calls = [
        call(hit + rest, hit, None, row=row) for hit, rest, row in zip(hits[:3], rests, rows[:3], strict=True)
    ]
    calls.append(call(hits[3] + last + rng.randrange(1, 9), hits[3], None, row=rows[3]))
    calls[0] |= {"budget": sum(rests) + last, "reserved": rng.randrange(50)}
    return calls


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """Of each call: what came back, both accounts, the token pool, the waiting request."""
    import torch

    from minisgl.core import ChunkedReq, Req, SamplingParams
    from minisgl.scheduler.prefill import PrefillAdder
    from minisgl.scheduler.table import TableManager
    from minisgl.scheduler.utils import PendingReq

    tables = TableManager(4, torch.full((5, case["width"]), -1, dtype=torch.int32))
    pool = tables.token_pool
    pool.fill_(-2)
    cache = io.obj(page_size=case["page_size"])
    adder = None
    for number, call in enumerate(case["calls"]):
        if "budget" in call:
            adder = PrefillAdder(call["budget"], call["reserved"], cache, tables)
        ids, row, cached = call["ids"], call["row"], call["cached"]
        pool[row, :cached] = ids[:cached]
        handle, params = io.obj(number=number, cached_len=cached), SamplingParams(max_tokens=call["output"])
        pending = PendingReq(call["uid"], ids, params)
        req = target(adder, pending, handle, row, cached)
        if isinstance(req, Req):
            marks = [req.uid, req.table_idx, req.cached_len, req.device_len, req.output_len]
            kept = [req.sampling_params is params, req.cache_handle is handle]
            kind = "ChunkedReq" if isinstance(req, ChunkedReq) else "Req"
            io.emit([kind, marks, kept, req.input_ids])
        else:
            io.emit(None)
        untouched = pending.uid == call["uid"] and pending.sampling_params is params
        io.emit([adder.token_budget, adder.reserved_size, pool, pending.input_ids, untouched])


# --- Outside again: the checker -----------------------------------------------------------------

_MARKS = ("uid", "table_idx", "cached_len", "device_len", "output_len")


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Call by call: the request, then the two accounts, the token pool and the waiting request."""
    if len(got) != len(expected) or not all(_alike(*pair) for pair in zip(expected, got, strict=True)):
        return Broken(4, NO_RESULT)
    for place in range(0, len(expected), 2):
        broken = _check_request(expected[place], got[place])
        if broken := broken or _check_rest(expected[place + 1], got[place + 1]):
            return broken
    return None


def _alike(due: list[Any], seen: Any) -> bool:
    """Whether ``seen`` has the form of what a call leaves; None stands for a result that is no request."""
    if seen is None:
        return len(due) == 4
    if not isinstance(seen, list) or len(seen) != len(due):
        return False
    return all(
        isinstance(mine, list) and len(mine) == len(right)
        for right, mine in zip(due, seen, strict=True)
        if isinstance(right, list)
    )


def _check_request(due: list[Any], seen: list[Any] | None) -> Broken | None:
    if seen is None:
        zh, en = "返回的不是 `Req` 或 `ChunkedReq`。", "What is returned is no `Req` and no `ChunkedReq`."
        return Broken(4, {"zh": zh, "en": en})
    if seen[0] != due[0]:
        return Broken(4, _kind(due[0]))
    if not same(due[3], seen[3]):
        zh = "`input_ids` 不是提示从头到这一块末尾的 token。"
        en = "`input_ids` are not the prompt's tokens from the start to the end of this chunk."
        return Broken(5, {"zh": zh, "en": en})
    for name, right, mine in zip(_MARKS, due[1], seen[1], strict=True):
        if not same(right, mine):
            zh, en = f"请求的 `{name}` 不对。", f"The request's `{name}` is wrong."
            return Broken(5, {"zh": zh, "en": en})
    for name, kept in zip(("sampling_params", "cache_handle"), seen[2], strict=True):
        if kept is not True:
            zh, en = f"请求的 `{name}` 不是给它的那个。", f"The request's `{name}` is not the one given."
            return Broken(5, {"zh": zh, "en": en})
    return None


def _kind(due: str) -> Text:
    if due == "ChunkedReq":
        return {
            "zh": "这一块没有算到提示的末尾，返回的却是 `Req`。",
            "en": "The chunk does not reach the end of the prompt, and yet a `Req` is returned.",
        }
    return {
        "zh": "这一块算到了提示的末尾，返回的却是 `ChunkedReq`。",
        "en": "The chunk reaches the end of the prompt, and yet a `ChunkedReq` is returned.",
    }


def _check_rest(due: list[Any], seen: list[Any]) -> Broken | None:
    budget, reserved, pool, ids, untouched = seen
    if not is_int(budget) or budget != due[0]:
        zh = "`token_budget` 减少的不是这一块的长度。"
        en = "`token_budget` does not go down by the length of this chunk."
        return Broken(1, {"zh": zh, "en": en})
    if not is_int(reserved) or reserved != due[1]:
        zh = "`reserved_size` 增加的不是还差的、要生成的，加上 `page_size - 1`。"
        en = "`reserved_size` does not grow by what is missing, the output, and `page_size - 1`."
        return Broken(2, {"zh": zh, "en": en})
    if not same(due[2], pool):
        zh = "`token_pool` 里不是恰好多了这一块的 token。"
        en = "`token_pool` has not just this chunk's tokens more than before."
        return Broken(3, {"zh": zh, "en": en})
    if not same(due[3], ids) or untouched is not True:
        zh, en = "等待的请求变了。", "The waiting request is changed."
        return Broken(6, {"zh": zh, "en": en})
    return None


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Budgets 16 and 7; and two short prompts for which three pages of 4 are too few.

    In the last, each request writes 5 positions in two pages: 2 + 4 + 3 tokens are reserved, twice 9 do not
    fit into 12.
    """
    calls = [[P(0, 50), P(1, 9), P(2, 6)], *default_jobs()[0].calls]
    short = [[P(0, 2), P(1, 2)]]
    return [
        EngineJob("budget 16", calls, max_extend_tokens=16),
        EngineJob("budget 7, page size 4", calls, page_size=4, max_extend_tokens=7),
        EngineJob("three pages of 4", short, page_size=4, slots=12, max_tokens=4, max_seq_len=12),
    ]


_RIGHT = """\
from minisgl.core import ChunkedReq, Req


def _add_one_req(self, pending_req, cache_handle, table_idx, cached_len):
    remain = pending_req.input_len - cached_len
    chunk = min(self.token_budget, remain)
    end = cached_len + chunk
    self.token_budget -= chunk
    self.reserved_size += remain + pending_req.output_len + self.cache_manager.page_size - 1
    self.table_manager.token_pool[table_idx, cached_len:end] = pending_req.input_ids[cached_len:end]
    kind = ChunkedReq if chunk < remain else Req
    return kind(
        input_ids=pending_req.input_ids[:end],
        table_idx=table_idx,
        cached_len=cached_len,
        output_len=pending_req.output_len,
        uid=pending_req.uid,
        sampling_params=pending_req.sampling_params,
        cache_handle=cache_handle,
    )
"""
_POOL = (
    "    self.table_manager.token_pool[table_idx, cached_len:end] = pending_req.input_ids[cached_len:end]\n"
)

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "+= remain + ", "+= chunk + "),
        zh="要为剩余全部预留：后面的块也要有地方放。",
        en="All of its rest must fit later: reserve it now, not the chunk only.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, " + self.cache_manager.page_size - 1", ""),
        zh="页大小大于 1 时少算尾页，会多接纳请求。",
        en="At page size 4 two short requests are admitted that need one page too many: add page_size - 1.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "token_budget -= chunk", "token_budget -= remain"),
        zh="只扣本块的预算：剩下的这一步不算。",
        en="Only this chunk runs now: charge the budget with it, not with the whole rest.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "input_ids=pending_req.input_ids[:end]", "input_ids=pending_req.input_ids"),
        zh="input_ids 只给到这一块：device_len 会算上未计算的 token。",
        en="Give input_ids up to the chunk's end: device_len would count tokens not computed in this step.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, "ChunkedReq if chunk < remain else Req", "Req"),
        zh="提示没算完要用 ChunkedReq，否则会从半截提示采样。",
        en="A prompt that is not done is a ChunkedReq; else a token is sampled from half a prompt.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "if chunk < remain", "if chunk < pending_req.input_len"),
        zh="和还差的比，不和整个提示比：命中的部分不用再算。",
        en="Compare with what is missing, not with the whole prompt: what is hit is computed already.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, _POOL, ""),
        zh="这一块的 token 没写进 token_pool，前向读到的是别的。",
        en="The chunk's tokens are not in the token pool: the forward reads something else.",
    ),
]
