"""Hidden tests of 193 `_try_allocate_one`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, is_int, refuse
from judge.authoring.tensors import int32
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.types import Broken, Case, EngineJob, Group, Mutant, Text

GROUPS = [
    Group("no_slot", "没有空槽位", "no free slot"),
    Group("no_hit", "什么也没有命中", "nothing cached"),
    Group("first_look", "上锁之前就放不下", "does not fit before the lock"),
    Group("second_look", "上锁之后放不下", "does not fit after the lock"),
    Group("hit", "命中并接纳", "a hit, admitted"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 30 calls around the limits: what is needed is what is available, or one token more or less."""
    found: list[Case] = []

    def add(group: str, hit: int, spare_before: int, spare_after: int, **more: Any) -> None:
        found.append(Case(group, _data(rng, hit, spare_before, spare_after, **more)))

    for _ in range(3):
        add("no_slot", rng.choice((0, 5)), rng.randrange(20), rng.randrange(20), free=0)
    add("no_hit", 0, 0, 0, prompt=1, output=1, reserved=0)
    for spare in (0, rng.randrange(1, 30)):
        for reserved in (0, rng.randrange(1, 40)):
            add("no_hit", 0, spare, spare, reserved=reserved)
    for hit in (0, 4, rng.randrange(5, 12)):
        for reserved in (0, rng.randrange(1, 40)):
            add("first_look", hit, -1, -1 - rng.randrange(hit + 1), reserved=reserved)
    add("first_look", 6, -rng.randrange(2, 30), -40)
    for hit in (1, 4, rng.randrange(5, 12)):
        for reserved in (0, rng.randrange(1, 40)):
            add("second_look", hit, rng.randrange(hit), -1, reserved=reserved)
    add("second_look", 6, 0, -6)
    for hit in (1, 4, rng.randrange(5, 12)):
        for reserved in (0, rng.randrange(1, 40)):
            shrink = rng.choice(
                (0, hit, rng.randrange(hit + 1))
            )  # less than the hit when others lock it, too
            spare = rng.choice((0, 0, rng.randrange(1, 9)))
            add("hit", hit, spare + shrink, spare, reserved=reserved)
    return found


def _data(rng: random.Random, hit: int, spare_before: int, spare_after: int, **more: Any) -> dict[str, Any]:
    """A request that hits ``hit`` tokens; ``spare_*``: available before and after the lock, less its need."""
    prompt = more.get("prompt", hit + rng.randrange(1, 9))
    output, reserved = more.get("output", rng.randrange(1, 12)), more.get("reserved", rng.randrange(20))
    needed = prompt - hit + output + reserved
    rows, free = rng.randrange(2, 5), more.get("free", rng.randrange(1, 3))
    return {
        "page_size": 1 if hit % 4 else 4,
        "ids": int32(rng.randrange(1, 500) for _ in range(prompt)),
        "output": output,
        "reserved": reserved,
        "budget": prompt + rng.randrange(9),
        "rows": rows,
        "free": rng.sample(range(rows), min(rows, free)),
        "width": prompt + output + 3,
        "hit": int32(rng.sample(range(1, 200), hit)),
        "available": [max(0, needed + spare_before), max(0, needed + spare_after)],
    }


class Cache:
    """The cache manager outside: one handle, number 0; what is available depends on whether it is locked."""

    def __init__(self, case: Case) -> None:
        self._unlocked, self._locked = case.data["available"]
        self._hit = case.data["hit"]
        self._locks = 0
        self._log: list[str] = []

    def match(self, is_request: Any) -> list[Any]:
        """Number and locations of the handle."""
        if is_request is not True:
            refuse(2, "`match_req` 收到的不是这个请求。", "`match_req` is not given this request.")
        self._log.append("match")
        return [0, self._hit]

    def available(self) -> int:
        """Tokens available now."""
        self._log.append("available")
        return int(self._locked if self._locks else self._unlocked)

    def lock(self, number: Any) -> None:
        """Add a lock."""
        self._count(number, "lock", 1)

    def unlock(self, number: Any) -> None:
        """Take one back."""
        self._count(number, "unlock", -1)

    def report(self) -> list[str]:
        """Every call, in order."""
        return self._log

    def _count(self, number: Any, name: str, change: int) -> None:
        if not is_int(number) or number != 0:
            en = "What is locked or unlocked is not the handle that the match gave."
            refuse(3, "锁住或解锁的不是匹配得到的句柄。", en)
        self._log.append(name)
        self._locks += change


trusted = Cache

# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """What came back, slots left, both tables, both budgets."""
    import torch

    from minisgl.kvcache.base import MatchResult
    from minisgl.scheduler.prefill import PrefillAdder
    from minisgl.scheduler.table import TableManager

    class Cache:
        page_size = case["page_size"]

        @property
        def available_size(self):
            return io.call("available")

        def match_req(self, pending):
            number, places = io.call("match", pending is req)
            handle = io.obj(number=number, cached_len=len(places), get_matched_indices=places.clone)
            return MatchResult(handle)

        def lock(self, handle):
            io.call("lock", getattr(handle, "number", None))

        def unlock(self, handle):
            io.call("unlock", getattr(handle, "number", None))

    ids, table = case["ids"], torch.full((case["rows"] + 1, case["width"]), -1, dtype=torch.int32)
    tables = TableManager(case["rows"], table)
    pool = tables.token_pool
    pool.fill_(-2)
    for _ in range(case["rows"]):
        tables.allocate()
    for slot in case["free"]:
        tables.free(slot)
    req = io.obj(uid=0, input_ids=ids, input_len=len(ids), output_len=case["output"])
    adder = PrefillAdder(case["budget"], case["reserved"], Cache(), tables)
    result = target(adder, req)
    if isinstance(result, (tuple, list)) and len(result) == 2:
        result = [getattr(result[0], "number", None), result[1]]
    io.emit(result)
    io.emit([tables.available_size, pool, table, adder.reserved_size, adder.token_budget])


# --- Outside again: the checker -----------------------------------------------------------------

_REFUSED: dict[str, tuple[int, Text]] = {
    "no_slot": (
        1,
        {"zh": "没有空槽位，请求却被接纳了。", "en": "No slot is free, and yet the request is admitted."},
    ),
    "first_look": (
        2,
        {
            "zh": "上锁之前就放不下的请求被接纳了。",
            "en": "A request that does not fit even before the lock is admitted.",
        },
    ),
    "second_look": (
        3,
        {
            "zh": "请求被接纳了，但上锁之后可用的变少，已经放不下。",
            "en": "The request is admitted, but after the lock less is available, and it does not fit.",
        },
    ),
}


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """First the answer, then the locks, then the slot, the tables and the budgets."""
    if len(got) != 3 or not isinstance(got[1], list) or len(got[1]) != len(expected[1]):
        return Broken(6, NO_RESULT)
    return (
        _check_answer(_branch(expected[2]), expected[0], got[0])
        or _check_calls(_branch(expected[2]), got[2])
        or _check_state(expected, got)
    )


def _branch(log: list[str]) -> str:
    """Where the reference ended, by what it asked."""
    names = {0: "no_slot", 2: "first_look", 5: "second_look"}
    return names.get(len(log), "admitted")


def _check_answer(branch: str, due: Any, seen: Any) -> Broken | None:
    if due is None and seen is None:
        return None
    if due is None:
        if not isinstance(seen, list):
            return Broken(6, {"zh": "被拒绝时返回的不是 None。", "en": "A refusal does not return None."})
        rule, text = _REFUSED[branch]
        return Broken(rule, text)
    if seen is None:
        zh, en = "放得下的请求被拒绝了。", "A request that fits is refused."
        return Broken(2, {"zh": zh, "en": en})
    if not same(due, seen):
        zh = "返回的不是 `(handle, slot)`：匹配得到的句柄，和占下的槽位。"
        en = "What is returned is not `(handle, slot)`: the handle of the match and the slot taken."
        return Broken(6, {"zh": zh, "en": en})
    return None


def _check_calls(branch: str, log: list[str]) -> Broken | None:
    if branch == "no_slot":
        if not log:
            return None
        zh, en = "没有空槽位，却去问了缓存。", "No slot is free, and yet the cache is asked."
        return Broken(1, {"zh": zh, "en": en})
    if log.count("match") != 1:
        zh = f"一次调用里匹配了 {log.count('match')} 次，应当是 1 次。"
        en = f"The prompt is matched {log.count('match')} times in one call; once is due."
        return Broken(2, {"zh": zh, "en": en})
    if branch == "first_look" and "lock" in log:
        zh, en = (
            "上锁之前就放不下，却上了锁。",
            "It does not fit even before the lock, and yet a lock is taken.",
        )
        return Broken(2, {"zh": zh, "en": en})
    kept = log.count("lock") - log.count("unlock")
    if branch == "admitted":
        if kept == 1:
            return None
        zh, en = (
            "接纳之后，句柄没有恰好锁着一次。",
            "After the admission the handle is not locked exactly once.",
        )
        return Broken(6, {"zh": zh, "en": en})
    if kept > 0:
        zh, en = "被拒绝的请求留下了锁。", "A refused request leaves a lock."
        return Broken(4, {"zh": zh, "en": en})
    if kept < 0:
        zh, en = "句柄解锁的次数多于上锁。", "The handle is unlocked more often than locked."
        return Broken(3, {"zh": zh, "en": en})
    return None


def _check_state(expected: list[Any], got: list[Any]) -> Broken | None:
    slots, pool, table, reserved, budget = got[1]
    due_slots, due_pool, due_table, due_reserved, due_budget = expected[1]
    refused = expected[0] is None
    if not same(due_slots, slots):
        if refused:
            zh, en = "被拒绝的请求占着一个槽位，它泄漏了。", "A refused request keeps a slot: it leaks."
        else:
            zh, en = "接纳一个请求，占下的不是恰好一个槽位。", "An admission does not take exactly one slot."
        return Broken(4, {"zh": zh, "en": en})
    for name, due, seen in (("page_table", due_table, table), ("token_pool", due_pool, pool)):
        if same(due, seen):
            continue
        if refused:
            zh, en = f"请求被拒绝，`{name}` 却变了。", f"The request is refused, and yet `{name}` is changed."
            return Broken(4, {"zh": zh, "en": en})
        what, stuff = ("位置", "locations") if name == "page_table" else (" token", "tokens")
        zh = f"`{name}` 这一行的前 `cached_len` 项不是命中前缀的{what}，或者别处被改动。"
        en = f"The row of `{name}` does not begin with the {stuff} of the hit prefix, or more is changed."
        return Broken(5, {"zh": zh, "en": en})
    if not same([due_reserved, due_budget], [reserved, budget]):
        zh = "`reserved_size` 或 `token_budget` 变了；由调用者记账。"
        en = "`reserved_size` or `token_budget` is changed; the caller keeps account."
        return Broken(6, {"zh": zh, "en": en})
    return None


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """The default runs; the chapter's 64 tokens, where the fifth request waits; a pool where a lock decides.

    In the last, 27 of 40 tokens are cached by the first call. Beside the 18 tokens of the second call's first
    request, the other fits before its lock (28 of 40), not after it (28 of 20). The third call needs both
    slots and 32 tokens, so that neither a slot nor a lock may be left. A penalty on the prompt's tokens reads
    them in the token pool, those of the hit prefix, too.
    """
    five = [P(0, 5), P(1, 5), P(2, 4), P(3, 15), P(4, 5)]
    tight = [[P(0, 20)], [P(5, 10), P(0, 20) + P(1, 2)], [P(7, 10), P(8, 6)]]
    again = [[P(0, 60)], [P(5, 6), P(0, 60) + P(1, 2), P(0, 60) + P(2, 3)]]
    return [
        *default_jobs(),
        EngineJob(name="64 tokens, five requests", calls=[five, five], slots=64),
        EngineJob(name="40 tokens, where a lock decides", calls=tight, slots=40, max_running_req=2),
        EngineJob(name="a penalty", calls=again, slots=320, max_tokens=16, repetition_penalty=2.0),
    ]


_RIGHT = """\
def _try_allocate_one(self, req):
    if self.table_manager.available_size == 0:
        return None
    handle = self.cache_manager.match_req(req).cuda_handle
    cached_len = handle.cached_len
    needed = req.input_len - cached_len + req.output_len + self.reserved_size
    if needed > self.cache_manager.available_size:
        return None
    self.cache_manager.lock(handle)
    if needed > self.cache_manager.available_size:
        self.cache_manager.unlock(handle)
        return None
    slot = self.table_manager.allocate()
    self.table_manager.token_pool[slot, :cached_len] = req.input_ids[:cached_len]
    self.table_manager.page_table[slot, :cached_len] = handle.get_matched_indices()
    return handle, slot
"""
_SECOND = """\
    if needed > self.cache_manager.available_size:
        self.cache_manager.unlock(handle)
        return None
"""
_TAKE = "    slot = self.table_manager.allocate()\n"
_LOCATIONS = "    self.table_manager.page_table[slot, :cached_len] = handle.get_matched_indices()\n"

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, _SECOND, ""),
        zh="加锁后可用空间变小，要再查。",
        en="The lock makes the available space smaller: check again after it.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "        self.cache_manager.unlock(handle)\n", ""),
        zh="被拒绝的请求不能留下锁：返回 None 之前要解锁。",
        en="A refused request is to leave no lock: unlock before you return None.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, _LOCATIONS, ""),
        zh="命中前缀的位置没写进页表。",
        en="The locations of the prefix that was hit are not in the page table.",
    ),
    Mutant(
        "d",
        instead(instead(_RIGHT, _TAKE, ""), "    handle = self", _TAKE + "    handle = self"),
        zh="槽位占得太早：请求被拒绝时没有还回去。",
        en="The slot is taken too early: when the request is refused, it is lost.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, " + self.reserved_size", ""),
        zh="别的请求预留的空间也要算进去。",
        en="What is reserved for others counts, too.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, " + req.output_len", ""),
        zh="要放得下的还有它将要生成的 token。",
        en="What it is going to generate has to fit, too.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "req.input_len - cached_len + ", "req.input_len + "),
        zh="命中的部分已经在缓存里，不再需要新的空间。",
        en="What is hit lies in the cache already and needs no new space.",
    ),
    Mutant(
        "h",
        instead(_RIGHT, " + self.reserved_size", " + self.reserved_size + self.cache_manager.page_size - 1"),
        zh="`page_size − 1` 是给别的请求留的，`reserved_size` 里已经有了，新来的自己不用加。",
        en="`page_size − 1` is the others' and in `reserved_size` already; the new one adds none of its own.",
    ),
]
