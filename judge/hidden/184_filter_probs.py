"""Hidden tests of 184 `filter_probs`."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import broken_end
from judge.authoring.tensors import float32, int32
from judge.harness.compare import close, same
from judge.jobs import P
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant, Text

GROUPS = [
    Group("top_k", "只有 top-k", "top-k alone"),
    Group("top_p", "只有 top-p", "top-p alone"),
    Group("min_p", "只有 min-p", "min-p alone"),
    Group("together", "三个一起", "all three"),
    Group("rows", "各行各的参数", "rows with their own settings"),
]
Settings = tuple[int, float, float]
_GAP = 0.25
"""top_p is in the middle of a token's share, min_p between two shares: rounding decides nothing."""

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 45 batches of one to five rows, up to 48 tokens each."""
    found: list[Case] = []

    def add(group: str, rows: list[list[float]], settings: list[Settings]) -> None:
        top_k, top_p, min_p = zip(*settings, strict=True)
        data = {
            "probs": float32([p for row in rows for p in row], [len(rows), len(rows[0])]),
            "top_k": int32(top_k),
            "top_p": float32(top_p, [len(rows)]),
            "min_p": float32(min_p, [len(rows)]),
            "wide": rng.random() < 0.7,  # top_k as int64
        }
        found.append(Case(group, data))

    for group in ("top_k", "top_p", "min_p"):
        add(group, [[1.0]], [(1, _top_p(rng, [1.0]) if group == "top_p" else 1.0, 0.0)])
        for size in (2, 3, 5, 8, 20):
            row = _row(rng, size)
            add(group, [row], [_alone(rng, group, row)])
        row = [0.125, 0.25, 0.25, 0.125, 0.25]
        add(group, [row], [_alone(rng, group, row)])
    add("top_k", [[0.25, 0.25, 0.25, 0.25]], [(rng.randrange(1, 4), 1.0, 0.0)])
    add("top_k", [[0.1, 0.3, 0.3, 0.3]], [(2, 1.0, 0.0)])
    for top_k in (rng.randrange(4, 9), rng.randrange(20, 24)):  # a sort of more than 16 need not be stable
        row = [1 / 64] * 32 + [1 / 32] * 16
        rng.shuffle(row)
        add("top_k", [row], [(top_k, 1.0, 0.0)])
    add("top_p", [[0.2, 0.2, 0.2, 0.2, 0.2]], [(5, rng.choice((0.3, 0.5, 0.7)), 0.0)])
    add("top_p", [[0.2, 0.7, 0.1]], [(3, 0.3, 0.0)])
    add("min_p", [[0.25, 0.5, 0.25]], [(3, 1.0, 0.5)])  # a quarter is not less than half of a half
    for mistake in _WHYS:
        for size in (6, 12):
            row, settings = _apart(rng, size, mistake)
            add("together", [row], [settings])
    for size in (5, 9, 20):
        row = _row(rng, size)
        add("together", [row], [_all(rng, row)])
    for count, size in ((2, 4), (3, 4), (4, 9), (5, 20), (5, 12)):
        rows = [_row(rng, size) for _ in range(count)]
        settings = [_all(rng, row) for row in rows]
        settings[rng.randrange(1, count)] = (size, 1.0, 0.0)  # one that filters nothing
        settings[0] = (rng.randrange(1, size), 1.0, 0.0)
        add("rows", rows, settings)
    add("rows", [row := _row(rng, 6), row, row], [_alone(rng, g, row) for g in ("top_k", "top_p", "min_p")])
    return found


def _row(rng: random.Random, size: int) -> list[float]:
    """No token is less likely than 1 in 400; sometimes two are equally likely."""
    weights = [rng.uniform(0.3, 4) for _ in range(size)]
    if size > 3 and rng.random() < 0.3:
        weights[rng.randrange(size)] = weights[rng.randrange(size)]
    rounded: list[float] = float32([w / sum(weights) for w in weights], [size]).tolist()
    return rounded


def _shares(row: list[float], top_k: int) -> list[tuple[int, float]]:
    """The ids that top-k leaves, in falling order, with their rescaled probabilities."""
    ids = sorted(range(len(row)), key=lambda i: (-row[i], i))[:top_k]
    total = sum(row[i] for i in ids)
    return [(i, row[i] / total) for i in ids]


def _top_p(rng: random.Random, shares: list[float]) -> float:
    last = rng.randrange(len(shares))
    return sum(shares[:last]) + shares[last] * rng.uniform(_GAP, 1 - _GAP)


def _min_p(rng: random.Random, shares: list[float]) -> float:
    """Between two of them that are well apart; 0 when no two are."""
    ratios = [share / shares[0] for share in shares]
    places = [(a + b) / 2 for a, b in pairwise(ratios) if a - b > 0.02]
    return rng.choice(places) if places else 0.0


def _alone(rng: random.Random, group: str, row: list[float]) -> Settings:
    shares = [share for _, share in _shares(row, len(row))]
    if group == "top_k":
        return rng.randrange(1, len(row)), 1.0, 0.0
    if group == "top_p":
        return len(row), _top_p(rng, shares), 0.0
    return len(row), 1.0, _min_p(rng, shares)


def _all(rng: random.Random, row: list[float]) -> Settings:
    top_k = rng.randrange(len(row) // 2, len(row) + 1)
    shares = [share for _, share in _shares(row, top_k)]
    return top_k, _top_p(rng, shares), _min_p(rng, shares)


def _apart(rng: random.Random, size: int, mistake: str) -> tuple[list[float], Settings]:
    """A row and settings where this mistake leaves other tokens, whatever rounding does."""
    while True:
        row = _row(rng, size)
        settings = _all(rng, row)
        if _left(row, settings, mistake) != _left(row, settings):
            return row, settings


def _left(row: list[float], settings: Settings, mistake: str = "") -> list[int]:
    """The ids that all filters leave, in falling order."""
    top_k, top_p, min_p = settings
    shares = _shares(row, top_k)
    if mistake == "raw":
        shares = [(i, row[i]) for i, _ in shares]
    enough = [i for i, share in shares if share >= min_p * shares[0][1]]
    if mistake == "min-p first":
        total = sum(row[i] for i in enough)
        shares = [(i, row[i] / total) for i in enough]
    found, before = [], 0.0
    for i, share in shares:
        reached = before + share if mistake == "with it" else before
        if reached < top_p and i in enough:
            found.append(i)
        before += share
    return found


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the arguments."""
    top_k = case["top_k"].long() if case["wide"] else case["top_k"]
    io.emit(io.attempt(target, case["probs"], top_k, case["top_p"], case["min_p"]))
    io.emit([case["probs"], top_k, case["top_p"], case["min_p"]])


# --- Outside again: the checker -----------------------------------------------------------------

_WHYS: dict[str, tuple[int, Text]] = {
    "with it": (
        4,
        {
            "zh": "有一行里，跨过 `top_p` 的那个 token 没有留下。",
            "en": "In some row the token that crosses `top_p` is not kept.",
        },
    ),
    "raw": (
        3,
        {
            "zh": "有一行里，top-p 用的不是 top-k 之后重新归一化的概率。",
            "en": "In some row top-p goes by probabilities that were not rescaled after top-k.",
        },
    ),
    "min-p first": (
        5,
        {
            "zh": "有一行里，min-p 抢在 top-p 之前，改变了 top-p 看到的概率。",
            "en": "In some row min-p comes before top-p, which then sees other probabilities.",
        },
    ),
}


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors, type and shape first; then row by row which tokens are left, and their probabilities."""
    if broken := broken_end(expected, got, 1):
        return broken
    due, seen = expected[0]["value"], got[0]["value"]
    if not isinstance(seen, TensorData) or seen.dtype != due.dtype or seen.shape != due.shape:
        zh, en = "返回的不是 float32 张量 `[B, V]`。", "What is returned is not a float32 tensor `[B, V]`."
        return Broken(1, {"zh": zh, "en": en})
    data = case.data
    settings = zip(data["top_k"].tolist(), data["top_p"].tolist(), data["min_p"].tolist(), strict=True)
    for row, own, mine in zip(data["probs"].tolist(), settings, seen.tolist(), strict=True):
        if broken := _check_row(row, own, mine):
            return broken
    if not same(expected[1], got[1]):
        return Broken(1, {"zh": "调用之后有参数变了。", "en": "An argument is changed after the call."})
    return None


def _check_row(row: list[float], settings: Settings, mine: list[float]) -> Broken | None:
    left = _left(row, settings)
    total = sum(row[i] for i in left)
    due = [row[i] / total if i in left else 0.0 for i in range(len(row))]
    if all(close(a, b) and (a > 0) == (b > 0) for a, b in zip(due, mine, strict=True)):
        return None
    if not all(value >= 0 for value in mine) or not any(mine):
        zh = "有一行什么也没有留下，或者有不是概率的数。"
        en = "Some row keeps nothing, or has what is no probability."
        return Broken(4, {"zh": zh, "en": en})
    kept = {i for i, value in enumerate(mine) if value > 0}
    if kept == set(left):
        zh = "有一行留下的 token 对，概率却不对。"
        en = "In some row the right tokens are left, with wrong probabilities."
        return Broken(6, {"zh": zh, "en": en})
    for mistake, (rule, text) in _WHYS.items():
        if kept == set(_left(row, settings, mistake)):
            return Broken(rule, text)
    if all(close(a, b) for a, b in zip(sorted(due), sorted(mine), strict=True)):
        rule = 3 if sorted(row[i] for i in kept) == sorted(row[i] for i in left) else 6
        zh = "有一行的概率对，却放在了别的编号处。"
        en = "In some row the probabilities are right, but at other ids."
        return Broken(rule, {"zh": zh, "en": en})
    return _compare(row, settings, kept)


def _compare(row: list[float], settings: Settings, kept: set[int]) -> Broken:
    top_k, top_p, _ = settings
    by_k = set(_left(row, (top_k, 1.0, 0.0)))
    by_p = set(_left(row, (top_k, top_p, 0.0)))
    left = set(_left(row, settings))
    for rule, name, allowed in ((3, "top_k", by_k), (4, "top_p", by_p), (5, "min_p", left)):
        if kept - allowed:
            zh = f"有一行里，`{name}` 应当去掉的 token 还在。"
            en = f"In some row a token is left that `{name}` excludes."
            return Broken(rule, {"zh": zh, "en": en})
    zh, en = "有一行里，应当留下的 token 不见了。", "In some row a token is gone that stays."
    return Broken(4 if by_p - kept == left - kept else 5, {"zh": zh, "en": en})


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Sampled text with a seed each: mild settings first, which the text shown has, too; then hard ones.

    T0's logits are close together: low temperatures give them the shape of a real model's.
    """
    calls = [[P(0, 5), P(1, 5), P(2, 4), P(3, 15)]]
    mild = {"temperature": 0.8, "top_k": 20, "top_p": 0.9, "seed": 1}
    hard = [
        {"temperature": 0.1, "top_k": 6, "top_p": 0.8, "seed": 2},
        {"temperature": 0.04, "min_p": 0.2, "top_p": 0.7, "seed": 3},
        {"temperature": 0.04, "top_p": 0.3, "seed": 4},
        {"temperature": 0.06, "top_k": 50, "min_p": 0.1, "seed": 5},
    ]
    return [
        EngineJob(name="one setting", calls=calls, sampling=[mild]),
        EngineJob(name="settings of their own", calls=calls, sampling=hard, max_tokens=16),
    ]


_RIGHT = """\
import torch


def filter_probs(probs, top_k, top_p, min_p):
    ordered, ids = probs.sort(dim=-1, descending=True, stable=True)
    ranks = torch.arange(probs.shape[-1])
    ordered = ordered * (ranks < top_k[:, None])
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    before = ordered.cumsum(dim=-1) - ordered
    stays = (before < top_p[:, None]) & (ordered >= min_p[:, None] * ordered[:, :1])
    ordered = ordered * stays
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, ids, ordered)
"""
_RESCALE = "    ordered = ordered / ordered.sum(dim=-1, keepdim=True)\n"
_TOP_K = "    ordered = ordered * (ranks < top_k[:, None])\n"
_ENOUGH = "ordered >= min_p[:, None] * ordered[:, :1]"
_LAST = "    return torch.zeros_like(probs).scatter(-1, ids, ordered)\n"

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "(before < top_p[:, None])", "(ordered.cumsum(dim=-1) <= top_p[:, None])"),
        zh="跨过 p 的那个 token 要保留：看的是它之前的和。",
        en="The token that crosses p stays: look at the sum before it.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, _TOP_K + _RESCALE, _TOP_K),
        zh="top-p 要在 top-k 之后重新归一化：它管的是 top-k 剩下的。",
        en="Rescale after top-k: top-p applies to what top-k left.",
    ),
    Mutant(
        "c",
        instead(
            _RIGHT,
            "    ordered, ids",
            "    top_k, top_p, min_p = top_k[:1], top_p[:1], min_p[:1]\n    ordered, ids",
        ),
        zh="每个请求有自己的参数，不能都用第一行的。",
        en="Each request has its own settings; those of the first row are not everybody's.",
    ),
    Mutant(
        "d",
        instead(
            _RIGHT,
            "    before = ",
            f"    ordered = ordered * ({_ENOUGH})\n{_RESCALE}    before = ",
        ),
        zh="min-p 在 top-p 之后：先做它，top-p 看到的和就变大了。",
        en="Min-p comes after top-p: done before, it raises the sums that top-p goes by.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, _RESCALE + _LAST, _LAST),
        zh="最后还要归一化一次：剩下的加起来应当是 1。",
        en="Rescale once more at the end: what is left is to sum to 1.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, _LAST, "    return ordered\n"),
        zh="要放回原来的编号处：第 0 个位置是 token 0，不是最大的那个。",
        en="Put them back at their own ids: place 0 is token 0, not the most likely one.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "min_p[:, None] * ordered[:, :1]", "min_p[:, None]"),
        zh="min-p 是相对的：和最大的概率比，不是和 1 比。",
        en="Min-p is relative: a fraction of the largest probability, not of 1.",
    ),
    Mutant(
        "h",
        instead(
            _RIGHT,
            "probs.sort(dim=-1, descending=True, stable=True)",
            "(x.flip(-1) for x in probs.sort(dim=-1, stable=True))",
        ),
        zh="一样大时先留编号小的：升序排完再倒过来，次序就反了。",
        en="Of equal ones the lower ids stay: sorting upwards and flipping turns their order round.",
    ),
    Mutant(
        "i",
        instead(_RIGHT, ", stable=True", ""),
        zh="不写 `stable=True`，一样大的可以排成任何次序：换台机器，写出的字就变了。",
        en="Without `stable=True` equal ones may come in any order: another machine writes another text.",
    ),
]
