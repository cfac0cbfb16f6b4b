"""Hidden tests of 169 `apply_rope`."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import broken_end
from judge.authoring.tensors import bfloat16, float32, int32
from judge.harness.compare import same
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, Group, Mutant, Text

GROUPS = [
    Group("one", "一个 token，一个头", "one token, one head"),
    Group("positions", "位置无序、有重复", "positions in any order, some twice"),
    Group("heads", "几个头，D 从 2 到 16", "several heads, D from 2 to 16"),
    Group("half", "bfloat16 的向量", "bfloat16 vectors"),
]

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 26 calls. The table's numbers are no cosines: nothing but looking them up gives them."""
    found: list[Case] = []

    def add(group: str, positions: list[int], heads: int, size: int, dtype: str = "float32") -> None:
        shape = [len(positions), heads, size]
        values = [rng.uniform(0.3, 3) * rng.choice((-1, 1)) for _ in range(len(positions) * heads * size)]
        rows = max(positions) + rng.randrange(1, 4)
        table = [rng.uniform(0.1, 1) * rng.choice((-1, 1)) for _ in range(rows * size)]
        data = {
            "x": (float32 if dtype == "float32" else bfloat16)(values, shape),
            "positions": int32(positions),
            "wide": rng.random() < 0.3,  # positions as int64
            "cos_sin": float32(table, [rows, size]),
        }
        found.append(Case(group, data))

    for size in (2, 4, 6, 8, 16):
        add("one", [rng.randrange(1, 12)], 1, size)
    for count in (2, 3, 4, 6, 6):
        positions = [rng.randrange(1, 12) for _ in range(count)]
        positions[-1] = positions[0]
        add("positions", positions, 1, 4)
        add("positions", rng.sample(range(1, 20), count), 1, 8)
    for heads, size in ((2, 2), (3, 4), (2, 16), (rng.randrange(2, 5), 8)):
        add("heads", rng.sample(range(1, 20), rng.randrange(2, 5)), heads, size)
    for count, heads, size in ((1, 1, 8), (3, 2, 8), (5, 1, 16), (4, 2, 16)):
        add("half", rng.sample(range(1, 20), count), heads, size, "bfloat16")
    return found


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the arguments."""
    positions = case["positions"].long() if case["wide"] else case["positions"]
    io.emit(io.attempt(target, case["x"], positions, case["cos_sin"]))
    io.emit([case["x"], positions, case["cos_sin"]])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors, type and shape first, then the numbers, then the arguments."""
    if broken := broken_end(expected, got, 1):
        return broken
    due, seen = expected[0]["value"], got[0]["value"]
    if not isinstance(seen, TensorData) or seen.dtype != due.dtype or seen.shape != due.shape:
        zh, en = (
            "返回的张量不是 `x` 的形状和 dtype。",
            "What is returned does not have `x`'s shape and dtype.",
        )
        return Broken(1, {"zh": zh, "en": en})
    # another order of the same float32 operations may round one of the numbers to its neighbour
    wrong = _unlike(due, seen) if due.dtype == "bfloat16" else not same(due, seen)
    if wrong > (1 if due.dtype == "bfloat16" else 0):
        return _why(case, due, seen)
    if not same(expected[1], got[1]):
        return Broken(6, {"zh": "调用之后有参数变了。", "en": "An argument is changed after the call."})
    return None


def _unlike(due: TensorData, seen: TensorData) -> int:
    """How many bfloat16 numbers differ; one that is more than a rounding off counts for many."""
    pairs = zip(_flat(due), _flat(seen), strict=True)
    return sum(1 if abs(a - b) <= abs(a) / 100 else 9 for a, b in pairs if a != b)


_WHYS: dict[str, tuple[int, Text]] = {
    "neighbours": (
        2,
        {
            "zh": "配成对的是相邻的两维，不是第 `i` 维与第 `i + D/2` 维。",
            "en": "Neighbouring dimensions are paired, not dimension `i` with `i + D/2`.",
        },
    ),
    "backwards": (3, {"zh": "旋转的方向反了。", "en": "It turns the other way round."}),
    "by place": (
        4,
        {
            "zh": "第几个 token 就用了表的第几行，没有看 `positions`。",
            "en": "Each token takes the row of its own place, whatever `positions` says.",
        },
    ),
    "swapped": (
        4,
        {"zh": "表的两半用反了：前一半是 cos。", "en": "The table's halves are mixed up: cos is first."},
    ),
}


def _why(case: Case, due: TensorData, seen: TensorData) -> Broken:
    close = 0.02 if due.dtype == "bfloat16" else 1e-4
    mine, right = _flat(seen), _flat(due)
    for name, (rule, text) in _WHYS.items():
        other = list(_turned(case.data, name))
        if _alike(other, mine, close) and not _alike(other, right, close):
            return Broken(rule, text)
    if _alike(right, mine, close):
        zh = "大致对，但不够精确：应当全在 float32 里算，最后才转换。"
        en = "About right, but not precise: compute all of it in float32 and convert at the end."
        return Broken(5, {"zh": zh, "en": en})
    zh, en = "转出来的数不对。", "What comes out of the rotation is wrong."
    return Broken(3, {"zh": zh, "en": en})


def _flat(tensor: TensorData) -> list[float]:
    return [float(value) for token in tensor.tolist() for head in token for value in head]


def _alike(one: list[float], other: list[float], close: float) -> bool:
    return all(abs(a - b) <= close * max(1.0, abs(a)) for a, b in zip(one, other, strict=True))


def _turned(data: dict[str, Any], mistake: str) -> Iterator[float]:
    """What a solution with this mistake gives, in row order."""
    table, places = data["cos_sin"].tolist(), data["positions"].tolist()
    for number, heads in enumerate(data["x"].tolist()):
        row = table[number % len(table) if mistake == "by place" else places[number]]
        half = len(row) // 2
        cos, sin = (row[half:], row[:half]) if mistake == "swapped" else (row[:half], row[half:])
        if mistake == "backwards":
            sin = [-value for value in sin]
        for head in heads:
            pairs = [(i, i + half) for i in range(half)]
            if mistake == "neighbours":
                pairs = [(2 * i, 2 * i + 1) for i in range(half)]
            result = [0.0] * len(head)
            for i, (a, b) in enumerate(pairs):
                result[a] = head[a] * cos[i] - head[b] * sin[i]
                result[b] = head[b] * cos[i] + head[a] * sin[i]
            yield from result


# --- Mutants ------------------------------------------------------------------------------------

_RIGHT = """\
import torch


def apply_rope(x, positions, cos_sin):
    cos, sin = cos_sin[positions].unsqueeze(1).chunk(2, dim=-1)
    x1, x2 = x.float().chunk(2, dim=-1)
    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1).to(x.dtype)
"""
_HALVES = "x1 * cos - x2 * sin, x2 * cos + x1 * sin"
_LAST = "    return torch.cat([x1 * cos - x2 * sin, x2 * cos + x1 * sin], dim=-1).to(x.dtype)\n"

MUTANTS = [
    Mutant(
        "a",
        instead(
            instead(_RIGHT, "x.float().chunk(2, dim=-1)", "x.float()[..., ::2], x.float()[..., 1::2]"),
            f"torch.cat([{_HALVES}], dim=-1)",
            f"torch.stack([{_HALVES}], dim=-1).flatten(-2)",
        ),
        zh="第 i 维与 i + D/2 维配对，不是相邻的两维。",
        en="Dimension i pairs with i + D/2, not with its neighbour.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, _HALVES, "x1 * cos + x2 * sin, x2 * cos - x1 * sin"),
        zh="旋转方向反了：减号在前一半。",
        en="This turns backwards: the minus belongs to the first half.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "cos_sin[positions]", "cos_sin[torch.arange(len(x)) % len(cos_sin)]"),
        zh="要按 positions 查表：命中前缀之后，第 0 个 token 并不在位置 0。",
        en="Look the table up by positions: behind a hit, token 0 is not at position 0.",
    ),
    Mutant(
        "d",
        instead(instead(_RIGHT, "x.float()", "x"), "cos_sin[positions]", "cos_sin[positions].to(x.dtype)"),
        zh="要在 float32 里算：bfloat16 只有 8 位有效数字。",
        en="Compute in float32: bfloat16 has just 8 significant bits.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, ".to(x.dtype)", ""),
        zh="算完要转回 x 的 dtype，后面的内核等着它。",
        en="Turn the result back into x's dtype, which the next kernel expects.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "cos, sin = ", "sin, cos = "),
        zh="表的前一半是 cos，后一半是 sin。",
        en="The table's first half is cos, the second sin.",
    ),
    Mutant(
        "g",
        instead(
            _RIGHT,
            _LAST,
            "    x1 = x1 * cos - x2 * sin\n    x2 = x2 * cos + x1 * sin\n"
            "    return torch.cat([x1, x2], dim=-1).to(x.dtype)\n",
        ),
        zh="算后一半时，x1 已经是转过的了；两个式子都要用原来的。",
        en="When the second half is computed, x1 is already turned; both formulas need the old one.",
    ),
]
