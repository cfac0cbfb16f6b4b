"""Hidden tests of 178 `BlockPool`."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, is_int, outcome
from judge.harness.compare import same
from judge.types import Broken, Case, Group, Mutant, Text

GROUPS = [
    Group("order", "分配与归还的次序", "the order of allocating and freeing"),
    Group("hits", "命中空闲的块", "free blocks are hit"),
    Group("reuse", "有键的块被再分配", "blocks with keys are allocated again"),
    Group("shared", "几个请求共用", "several requests share a block"),
    Group("errors", "不该发生的事", "what should not happen"),
    Group("scripts", "任意三十步", "thirty operations at random"),
]
Script = list[list[Any]]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 30 scripts; the random ones are played on the reference, so that each touch is allowed."""
    found: list[Case] = []

    def add(group: str, n: int, script: Script) -> None:
        found.append(Case(group, {"n": n, "script": script}))

    add("order", 1, [_ALLOCATE, ["free", 0], _ALLOCATE])
    for n in (3, rng.randrange(4, 9)):
        taken = list(range(n))
        rng.shuffle(taken)
        frees = [["free", block] for block in taken]
        add("order", n, [*[_ALLOCATE] * n, *frees, *[_ALLOCATE] * n])
        keyed = [["publish", block, f"k{block}"] for block in taken[: n // 2]]
        add("order", n, [*[_ALLOCATE] * n, *keyed, *frees, *[_ALLOCATE] * n])
    for n in (1, 3, rng.randrange(4, 9)):
        hit = rng.randrange(n)
        start: Script = [*[_ALLOCATE] * n, ["publish", hit, "p"], *[["free", block] for block in range(n)]]
        add("hits", n, [*start, ["lookup", "p"], ["touch", hit], ["lookup", "p"], *[_ALLOCATE] * (n - 1)])
        add(
            "hits",
            n,
            [*start, ["lookup", "q"], ["lookup", "p"], ["touch", hit], ["free", hit], ["lookup", "p"]],
        )
        add("reuse", n, [*start, *[_ALLOCATE] * n, ["lookup", "p"], ["free", hit], ["lookup", "p"]])
    several: Script = [*[_ALLOCATE] * 4, *[["publish", block, "p"] for block in (2, 1, 3)], ["lookup", "p"]]
    add("reuse", 4, [*several, ["free", 1], ["lookup", "p"], _ALLOCATE, ["lookup", "p"]])
    add("reuse", 2, [_ALLOCATE, ["publish", 0, "p"], ["publish", 0, "q"], ["lookup", "p"], ["lookup", "q"]])
    for users in (1, 2, rng.randrange(3, 6)):
        block = rng.randrange(3)
        more: Script = [["touch", block]] * users + [["free", block]] * users
        add("shared", 3, [*[_ALLOCATE] * 3, *more, ["free", block], _ALLOCATE])
        add("shared", 3, [*[_ALLOCATE] * 3, ["publish", block, "p"], *more, ["free", block], ["lookup", "p"]])
    add("errors", 2, [["free", 1], ["publish", 0, "p"], ["lookup", "p"], _ALLOCATE])
    add("errors", 2, [_ALLOCATE, _ALLOCATE, _ALLOCATE, ["free", 1], ["free", 1], _ALLOCATE])
    add(
        "errors",
        2,
        [_ALLOCATE, ["publish", 0, "p"], ["free", 0], ["publish", 0, "q"], ["free", 0], ["lookup", "p"]],
    )
    add("errors", 0, [_ALLOCATE, ["lookup", "p"]])
    for n in (2, 3, 3, 4, 4, 5, 6):
        add("scripts", n, _played(rng, n))
    return found


_ALLOCATE = ["allocate"]


def _played(rng: random.Random, n: int) -> Script:
    """Thirty operations on ``n`` blocks, now and then one that is an error."""
    pool, script = _pool()(n), []
    for _ in range(30):
        key = rng.choice("pqr")
        found = pool.lookup(key)
        used = [block for block in range(n) if pool.ref[block]]
        choices: Script = [["lookup", key], _ALLOCATE]
        choices += [["free", block] for block in rng.sample(used, min(2, len(used)))]
        choices += [["publish", block, key] for block in rng.sample(used, min(2, len(used)))]
        choices += [["touch", block] for block in {found, *used[:1]} - {None}]
        choices += [["free", rng.randrange(n)]] if rng.random() < 0.1 else []
        name, *args = step = rng.choice(choices)
        script.append(step)
        try:
            getattr(pool, name)(*args)
        except (RuntimeError, ValueError):
            continue
    return script


def _pool() -> Callable[[int], Any]:
    """The reference's class."""
    names: dict[str, Any] = {}
    exec(_RIGHT, names)
    made: Callable[[int], Any] = names["BlockPool"]
    return made


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """At first and after each operation: what it returned or raised, the queue, the counts."""
    pool = target(case["n"])
    io.emit([{"value": None}, pool.queue, pool.ref])
    for name, *args in case["script"]:
        io.emit([io.attempt(getattr(pool, name), *args), pool.queue, pool.ref])
    io.emit([type(pool.queue) is list, type(pool.ref) is list])


# --- Outside again: the checker -----------------------------------------------------------------

_RULES = {"allocate": 2, "publish": 3, "lookup": 4, "touch": 5, "free": 6}


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Operation by operation: what it returned, who is in the queue, the counts, the queue's order."""
    if len(got) != len(expected):
        return Broken(7, NO_RESULT)
    names = ["", *(step[0] for step in case.data["script"])]
    for name, due, seen in zip(names, expected, got, strict=False):
        if same(due, seen):
            continue
        if not isinstance(seen, list) or len(seen) != 3:
            return Broken(7, NO_RESULT)
        return (
            _check_outcome(name, due[0], seen[0])
            or _check_owners(seen[1], seen[2])
            or _check_state(name, due, seen)
        )
    if not same(expected[-1], got[-1]):
        return Broken(1, _NO_LISTS)
    return None


_NO_LISTS: Text = {
    "zh": "`queue` 或 `ref` 不是 int 的列表。",
    "en": "`queue` or `ref` is not a list of ints.",
}


def _check_outcome(name: str, due: dict[str, Any], seen: Any) -> Broken | None:
    rule = _RULES.get(name, 1)
    if text := outcome(due, seen):
        return Broken(rule, text)
    if "error" in due or same(due["value"], seen["value"]):
        return None
    if name == "lookup" and due["value"] is None:
        zh = "命中了一个已经再分配、或者从来没有这个键的块。"
        en = "A block is hit that was allocated again, or never had this key."
        return Broken(2, {"zh": zh, "en": en})
    if name == "lookup" and seen["value"] is None:
        zh = "有一块还有这个键，却没有命中：空闲的块在再分配之前都算。"
        en = "A block has this key and is not hit: a free one counts until it is allocated again."
        return Broken(4, {"zh": zh, "en": en})
    if name == "lookup":
        zh, en = "命中的不是有这个键的最小的块。", "What is hit is not the lowest block with this key."
        return Broken(4, {"zh": zh, "en": en})
    if name == "allocate":
        zh, en = "分配的不是队首的块。", "What is allocated is not the block at the front of the queue."
        return Broken(2, {"zh": zh, "en": en})
    zh, en = f"`{name}` 应当什么也不返回。", f"`{name}` is to return nothing."
    return Broken(rule, {"zh": zh, "en": en})


def _check_owners(queue: Any, ref: Any) -> Broken | None:
    """Whether exactly the blocks that nobody uses are in the queue."""
    if not all(isinstance(numbers, list) and all(map(is_int, numbers)) for numbers in (queue, ref)):
        return Broken(1, dict(_NO_LISTS))
    times = Counter(queue)
    if any(times[block] and count > 0 for block, count in enumerate(ref)):
        zh = "有请求正在用的块还在空闲队列里，会被再分配给别人。"
        en = "A block in use is in the free queue, and will be allocated to somebody else."
        return Broken(7, {"zh": zh, "en": en})
    if any(count > 1 for count in times.values()):
        zh, en = "一个块在空闲队列里出现了两次。", "A block is in the free queue twice."
        return Broken(7, {"zh": zh, "en": en})
    if any(not times[block] and count == 0 for block, count in enumerate(ref)):
        zh = "有一块没有人用，也不在空闲队列里：它丢了。"
        en = "A block is neither in use nor in the free queue: it is lost."
        return Broken(7, {"zh": zh, "en": en})
    return None


def _check_state(name: str, due: list[Any], seen: list[Any]) -> Broken:
    rule = _RULES.get(name, 1)
    where = {"zh": f"`{name}` 之后", "en": f"After `{name}`"} if name else {"zh": "开始时", "en": "At first"}
    if not same(due[2], seen[2]):
        zh, en = f"{where['zh']}，引用计数不对。", f"{where['en']} the reference counts are wrong."
        return Broken(rule, {"zh": zh, "en": en})
    if name == "free" and sorted(due[1]) == sorted(seen[1]):
        if len(due[1]) > 2 and seen[1] == due[1][-1:] + due[1][:-1]:
            zh = "归还的块有键，却排在了队首：它该去队尾，键也还留着。"
            en = "The block freed has a key, and yet is in front: it belongs at the end, and keeps its key."
        else:
            zh = "归还的块排错了地方：有键的在队尾，没有键的在队首。"
            en = "The block freed is in the wrong place: with a key at the end, without one in front."
        return Broken(6, {"zh": zh, "en": en})
    zh, en = f"{where['zh']}，空闲队列的次序不对。", f"{where['en']} the free queue is in the wrong order."
    return Broken(rule, {"zh": zh, "en": en})


# --- Mutants ------------------------------------------------------------------------------------

_RIGHT = reference(__file__)
_JOIN = "            self.queue.insert(0 if self._keys[block] is None else len(self.queue), block)\n"

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "            self.queue.remove(block)\n", "            pass\n"),
        zh="块仍在空闲队列里，会被再次分配：先拿走，再加一。",
        en="It is still in the free queue and will get a second owner: take it out, then count.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, _JOIN, _JOIN + "            self._keys[block] = None\n"),
        zh="引用为 0 不等于消失，复用之前仍可命中。",
        en="ref 0 is not gone: it may hit until it is reused.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "        self._keys[block] = None\n", ""),
        zh="再分配时要去掉旧键，不然会命中别人的数据。",
        en="Drop the old key on allocation; a later hit would read the new owner's data.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, _JOIN, "            self.queue.append(block)\n"),
        zh="没有键的块应先被复用，插到队首。",
        en="Blocks without a key go first: put them in front.",
    ),
    Mutant(
        "e",
        instead(
            _RIGHT,
            "next((block for block, own in enumerate(self._keys) if own == key), None)",
            "max((block for block, own in enumerate(self._keys) if own == key), default=None)",
        ),
        zh="几块同一个键，取号最小的，次次一样。",
        en="Of several blocks with one key take the lowest, the same every time.",
    ),
    Mutant(
        "f",
        instead(
            _RIGHT,
            "        if self.ref[block] == 0:\n            self.queue.insert",
            "        if True:\n            self.queue.insert",
        ),
        zh="还有别的请求在用，减到 0 才进队列。",
        en="Others still use it: it joins the queue at 0, not before.",
    ),
    Mutant(
        "g",
        instead(
            _RIGHT,
            '            raise ValueError(f"block {block} is free already")\n        self.ref[block] -= 1\n',
            "            return\n        self.ref[block] -= 1\n",
        ),
        zh="归还两次是程序的错，要报出来，不能装作没看见。",
        en="Freed twice is a fault of the program: say so instead of looking away.",
    ),
    Mutant(
        "h",
        instead(_RIGHT, _JOIN, "            self._keys[block] = None\n" + _JOIN),
        zh="归还时不去掉键：引用为 0 的块在再分配之前仍可命中，所以排到队尾。",
        en="Freeing keeps the key: at ref 0 the block may be hit until it is reused, so it goes to the end.",
    ),
]
