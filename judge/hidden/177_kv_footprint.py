"""Hidden tests of 177 `kv_footprint`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, is_int, outcome
from judge.harness.compare import same
from judge.types import Broken, Case, Group, Mutant, Text

GROUPS = [
    Group("alone", "没有共享", "nothing is shared"),
    Group("full", "共享装满的块", "full blocks are shared"),
    Group("partial", "共享没有装满的块", "blocks that are not full are shared"),
    Group("edges", "正好装满，或者一个 token 也没有", "just full, or no token at all"),
    Group("unfit", "表与长度对不上", "tables that do not fit their lengths"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 40 pools of one to six requests; block sizes 1 to 16; block numbers are in no order."""
    found: list[Case] = []

    def add(group: str, size: int, tables: list[list[int]], lengths: list[int]) -> None:
        data = {"tables": tables, "lengths": lengths, "size": size, "bytes": rng.choice((1, 512, 114688))}
        found.append(Case(group, data))

    add("alone", 4, [[0]], [1])
    for size in (1, 2, 4, 16):
        lengths = [rng.randrange(1, 4 * size + 2) for _ in range(rng.randrange(1, 5))]
        add("alone", size, *_family(rng, size, 0, lengths))
    for size in (1, 2, 4, 4, 16):
        shared = rng.randrange(1, 4) * size
        lengths = [shared + rng.randrange(1, 3 * size + 1) for _ in range(rng.randrange(2, 6))]
        add("full", size, *_family(rng, size, shared, lengths))
    for size in (2, 3, 4, 4, 16):
        whole = rng.randrange(3) * size
        fills = rng.sample(range(1, size + 1), 2)
        for lengths in (fills, fills[::-1], [*fills, fills[0]]):
            add("partial", size, *_family(rng, size, whole + size, [whole + fill for fill in lengths]))
    add("edges", 4, [], [])
    add("edges", 4, [[]], [0])
    for size in (1, 4, 16):
        blocks = rng.randrange(1, 4)
        add("edges", size, *_family(rng, size, 0, [blocks * size, 0, size]))
        add("edges", size, *_family(rng, size, blocks * size, [blocks * size, (blocks + 1) * size]))
    for size, change in ((1, 1), (4, 1), (4, -1), (16, 1), (rng.randrange(2, 9), -1)):
        tables, lengths = _family(rng, size, size, [size + rng.randrange(1, 2 * size + 1) for _ in range(3)])
        wrong = rng.randrange(3)
        tables[wrong] = [*tables[wrong], 99] if change > 0 else tables[wrong][:-1]
        add("unfit", size, tables, lengths)
    add("unfit", 4, [[1], [2, 3]], [4, 4])
    return found


def _family(
    rng: random.Random, size: int, shared: int, lengths: list[int]
) -> tuple[list[list[int]], list[int]]:
    """Tables of requests whose first ``shared`` tokens lie in the same blocks."""
    numbers = rng.sample(range(80), 60)
    common = [numbers.pop() for _ in range(-(-shared // size))]
    tables = []
    for length in lengths:
        count = -(-length // size)
        table = common[:count]
        tables.append(table + [numbers.pop() for _ in range(count - len(table))])
    return tables, lengths


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then both lists."""
    io.emit(io.attempt(target, case["tables"], case["lengths"], case["size"], case["bytes"]))
    io.emit([case["tables"], case["lengths"]])


# --- Outside again: the checker -----------------------------------------------------------------

_WRONG: dict[str, tuple[int, Text]] = {
    "logical_blocks": (
        2,
        {
            "zh": "`logical_blocks` 不是各张表的长度之和。",
            "en": "`logical_blocks` is not the sum of the tables' lengths.",
        },
    ),
    "physical_blocks": (
        3,
        {
            "zh": "`physical_blocks` 不是不同的物理块的个数。",
            "en": "`physical_blocks` is not the number of distinct blocks.",
        },
    ),
    "tail_waste": (
        4,
        {
            "zh": "`tail_waste` 不对：每个物理块只算一次，看装得最满的请求。",
            "en": "`tail_waste` is wrong: each physical block counts once, by its fullest request.",
        },
    ),
    "saved_bytes": (
        5,
        {
            "zh": "`saved_bytes` 不是省下的块数乘以一块的字节数。",
            "en": "`saved_bytes` is not the blocks saved times the bytes of a block.",
        },
    ),
}


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors first, then the keys, then number by number, then the lists."""
    if len(got) != len(expected):
        return Broken(6, NO_RESULT)
    if text := outcome(expected[0], got[0]):
        return Broken(1, text)
    if "value" in expected[0]:
        due, seen = expected[0]["value"], got[0]["value"]
        if not isinstance(seen, dict) or set(seen) != set(due) or not all(map(is_int, seen.values())):
            zh = f"返回的不是恰好有这些键、值都是 int 的字典：{', '.join(due)}。"
            en = f"The result is not a dict of ints with exactly the keys {', '.join(due)}."
            return Broken(6, {"zh": zh, "en": en})
        for key, (rule, text) in _WRONG.items():
            if seen[key] != due[key]:
                return Broken(rule, text)
    if not same(expected[1], got[1]):
        zh, en = "调用之后输入的列表变了。", "An input list is changed after the call."
        return Broken(6, {"zh": zh, "en": en})
    return None


# --- Mutants ------------------------------------------------------------------------------------

_RIGHT = reference(__file__)
_FILL = "            fullest[block] = max(tokens, fullest.get(block, 0))\n"

MUTANTS = [
    Mutant(
        "a",
        _RIGHT.replace("len(fullest)", "logical"),
        zh="共享的物理块只存一份，只算一次。",
        en="One physical block is stored once: count it once.",
    ),
    Mutant(
        "b",
        instead(
            _RIGHT,
            "tokens = min(block_size, length - i * block_size)",
            "tokens = block_size if i < len(table) - 1 else length % block_size",
        ),
        zh="整除时没有浪费：余数为 0，最后一块是满的。",
        en="Exact multiples waste nothing: with a remainder of 0 the last block is full.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, _FILL, "            fullest[block] = tokens\n"),
        zh="取该块中最满的请求，不是最后一个。",
        en="Take the fullest request of a block, not the last one.",
    ),
    Mutant(
        "d",
        instead(
            _RIGHT,
            "sum(block_size - tokens for tokens in fullest.values())",
            "sum(len(t) * block_size - n for t, n in zip(tables, lengths))",
        ),
        zh="共享的块里，空格也只空一次：按物理块算，不按请求算。",
        en="Slots of a shared block are empty once: go by physical blocks, not by requests.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, " * block_size * bytes_per_token", " * bytes_per_token"),
        zh="一块有 block_size 个 token，字节数要乘上它。",
        en="A block holds block_size tokens; its bytes are that many times those of a token.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "len(table) != -(-length // block_size)", "len(table) * block_size < length"),
        zh="块多了也不对：多出来的块里没有这个请求的 token。",
        en="Too many blocks are wrong as well: the extra one holds no token of the request.",
    ),
]
