"""Hidden tests of 181 `paged_attention`."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, outcome
from judge.authoring.tensors import bfloat16, float32, int32, int32_rows
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant, Text

GROUPS = [
    Group("scratch", "从头算，一个头", "from scratch, one head"),
    Group("decodes", "解码，一个头", "decoding, one head"),
    Group("hits", "命中前缀，长短混合，一个头", "behind a hit, lengths mixed, one head"),
    Group("heads", "几个查询头共用一个 KV 头", "query heads that share KV heads"),
    Group("half", "bfloat16 的张量", "bfloat16 tensors"),
]
_ODD = (10**9, -1, -(10**6), 2**31 - 1)
"""What a row may hold past a request's tokens, besides places of somebody else's."""

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 30 batches of one to six requests with up to 14 keys each."""
    found: list[Case] = []

    def add(
        group: str, spans: list[tuple[int, int]], kv_heads: int = 1, shared: int = 1, dim: int = 4
    ) -> None:
        half = group == "half"
        found.append(Case(group, _batch(rng, spans, kv_heads, kv_heads * shared, dim, half=half)))

    def scratch() -> tuple[int, int]:
        count = rng.randrange(2, 8)
        return count, count

    def decode() -> tuple[int, int]:
        return 1, rng.randrange(2, 14)

    def hit() -> tuple[int, int]:
        count = rng.randrange(2, 6)
        return count, count + rng.randrange(1, 9)

    def mixed(least: int) -> list[tuple[int, int]]:
        spans = [scratch(), decode(), hit(), *(rng.choice((decode, hit, scratch))() for _ in range(3))]
        rng.shuffle(spans)
        return spans[: rng.randrange(least, 7)]

    add("scratch", [(1, 1)])
    add("scratch", [(2, 2)], dim=2)
    add("scratch", [(6, 6)])
    add("scratch", [(3, 3), (3, 3)])
    for _ in range(2):
        add("scratch", [scratch() for _ in range(rng.randrange(2, 5))], dim=8)
    add("decodes", [(1, 2)])
    add("decodes", [(1, 9)])
    for _ in range(4):
        add("decodes", [decode() for _ in range(rng.randrange(2, 6))])
    add("hits", [(3, 7)])
    add("hits", [(6, 6), (3, 7), (1, 9)])
    add("hits", [(2, 5), (4, 9), (2, 11)])
    for _ in range(4):
        add("hits", mixed(3), dim=rng.choice((2, 4, 8)))
    for kv_heads, shared in ((1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (3, 2)):
        add("heads", mixed(4), kv_heads, shared)
    add("heads", [decode() for _ in range(4)], 2, 2)
    for spans in ([(1, 9)], [(5, 5)], [(3, 8), (1, 6)], mixed(4)):
        add("half", spans, 2, 2, 8)
    return found


def _batch(
    rng: random.Random, spans: list[tuple[int, int]], kv_heads: int, heads: int, dim: int, *, half: bool
) -> dict[str, Any]:
    """``spans``: queries and keys of each request. Some requests begin with the same tokens.

    Slots that belong to nobody hold large numbers; ``half`` gives keys a common part, so that all scores are
    large and close together: there it matters in which type they are computed.
    """
    total = sum(keys for _, keys in spans)
    slots = total + rng.randrange(3, 9)
    free = rng.sample(range(slots), slots)
    rows: list[list[int]] = []
    for queries, keys in spans:
        common = min(keys, len(rows[0])) - queries if rows and rng.random() < 0.4 else 0
        shared = rows[0][: max(0, min(common, spans[0][1] - spans[0][0]))] if rows else []
        rows.append(shared + [free.pop() for _ in range(keys - len(shared))])
    nobody = set(free)
    width = max(keys for _, keys in spans) + rng.choice((0, 3))
    table = [row + [rng.choice((*_ODD, *free)) for _ in range(width - len(row))] for row in rows]
    tensor = bfloat16 if half else float32

    def values(count: int, size: int, bias: float = 0.0) -> list[float]:
        return [bias + rng.gauss(0, 1) for _ in range(count * size)]

    def pool(bias: float = 0.0) -> TensorData:
        found = values(slots, kv_heads * dim, bias)
        for slot in nobody:
            found[slot * kv_heads * dim : (slot + 1) * kv_heads * dim] = [30.0] * (kv_heads * dim)
        return tensor(found, [slots, kv_heads, dim])

    ends = [0]
    for queries, _ in spans:
        ends.append(ends[-1] + queries)
    return {
        "q": tensor(values(ends[-1], heads * dim, 3.0 if half else 0.0), [ends[-1], heads, dim]),
        "k_cache": pool(3.0 if half else 0.0),
        "v_cache": pool(),
        "page_table": int32_rows(table),
        "cu_seqlens_q": int32(ends),
        "cache_seqlens": int32(keys for _, keys in spans),
        "scale": dim**-0.5 if rng.random() < 0.7 else rng.choice((0.25, 0.3)),
    }


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the arguments."""
    arguments = list(case.values())
    io.emit(io.attempt(target, *arguments))
    io.emit(arguments[:6])


# --- Outside again: the checker -----------------------------------------------------------------

_CLOSE = {"float32": 1e-4, "bfloat16": 0.02}


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors, type and shape first, then the numbers, then the arguments."""
    if len(got) != len(expected):
        return Broken(1, NO_RESULT)
    if isinstance(got[0], dict) and got[0].get("error") == "IndexError":
        zh = "用一个越界的数去取了 KV：`page_table` 在 `cache_seqlens` 之后的内容不能用。"
        en = "KV is fetched by a number out of range: use nothing in `page_table` past `cache_seqlens`."
        return Broken(6, {"zh": zh, "en": en})
    if text := outcome(expected[0], got[0]):
        return Broken(1, text)
    due, seen = expected[0]["value"], got[0]["value"]
    if not isinstance(seen, TensorData) or seen.dtype != due.dtype or seen.shape != due.shape:
        zh, en = (
            "返回的张量不是 `q` 的形状和 dtype。",
            "What is returned does not have `q`'s shape and dtype.",
        )
        return Broken(1, {"zh": zh, "en": en})
    close = (
        _alike(_flat(due), _flat(seen), _CLOSE["bfloat16"]) if due.dtype == "bfloat16" else same(due, seen)
    )
    if not close:
        return _why(case.data, _flat(due), _flat(seen), due.dtype)
    if not same(expected[1], got[1]):
        return Broken(7, {"zh": "调用之后有参数变了。", "en": "An argument is changed after the call."})
    return None


_WHYS: dict[str, tuple[int, Text]] = {
    "top left": (
        3,
        {
            "zh": "掩码靠左上角对齐：第 `r` 个查询只看见了前 `r + 1` 个键。",
            "en": "The mask is aligned at the top left: query `r` sees just the first `r + 1` keys.",
        },
    ),
    "all": (
        3,
        {
            "zh": "每个查询都看见了全部的键，包括在它之后的。",
            "en": "Every query sees all keys, those after it, too.",
        },
    ),
    "not itself": (3, {"zh": "查询看不见自己。", "en": "A query does not see itself."}),
    "repeat": (
        4,
        {
            "zh": "查询头和 KV 头对错了：`h` 用的是 KV 头 `h % Hkv`。",
            "en": "Query heads meet the wrong KV heads: `h` uses KV head `h % Hkv`.",
        },
    ),
    "first head": (
        4,
        {"zh": "每个查询头都用了第一个 KV 头。", "en": "All query heads use the first KV head."},
    ),
    "divided": (
        5,
        {"zh": "分数被 `scale` 除了，应当乘。", "en": "Scores are divided by `scale`, not multiplied."},
    ),
    "unscaled": (5, {"zh": "分数没有乘 `scale`。", "en": "Scores are not multiplied by `scale`."}),
    "in a row": (
        2,
        {
            "zh": "读的是池子开头连着的几格，不是 `page_table` 说的位置。",
            "en": "What is read are the pool's first slots, not the locations in `page_table`.",
        },
    ),
    "first row": (
        2,
        {"zh": "每个请求都用了页表的第一行。", "en": "All requests use the first row of the page table."},
    ),
}


def _why(data: dict[str, Any], due: list[float], seen: list[float], dtype: str) -> Broken:
    close = _CLOSE[dtype]
    for name, (rule, text) in _WHYS.items():
        other = list(_attended(data, name))
        if _alike(other, seen, close) and not _alike(other, due, close):
            return Broken(rule, text)
    if _alike(due, seen, 0.2 if dtype == "bfloat16" else 1e-3):
        zh = "大致对，但不够精确：分数和 softmax 应当在 float32 里算。"
        en = "About right, but not precise: scores and softmax are to be computed in float32."
        return Broken(5, {"zh": zh, "en": en})
    zh, en = "算出来的注意力不对。", "The attention that comes out is wrong."
    return Broken(2, {"zh": zh, "en": en})


def _flat(tensor: TensorData) -> list[float]:
    return [float(value) for token in tensor.tolist() for head in token for value in head]


def _alike(one: list[float], other: list[float], close: float) -> bool:
    return all(abs(a - b) <= close * max(1.0, abs(a)) for a, b in zip(one, other, strict=True))


def _attended(data: dict[str, Any], mistake: str) -> Iterator[float]:
    """What a solution with this mistake gives, in row order."""
    q, k_cache, v_cache = (data[name].tolist() for name in ("q", "k_cache", "v_cache"))
    kv_heads, heads = len(k_cache[0]), len(q[0])
    table, lengths = data["page_table"].tolist(), data["cache_seqlens"].tolist()
    scale = {"divided": 1 / data["scale"], "unscaled": 1.0}.get(mistake, data["scale"])
    for i, (start, end) in enumerate(pairwise(data["cu_seqlens_q"].tolist())):
        row = table[0 if mistake == "first row" else i][: lengths[i]]
        if mistake == "in a row":
            row = list(range(lengths[i]))
        row = [place if 0 <= place < len(k_cache) else 0 for place in row]
        for r in range(end - start):
            last = {"top left": r + 1, "all": len(row)}.get(mistake, len(row) - (end - start) + r + 1)
            visible = row[: max(1, last - 1) if mistake == "not itself" else last]
            for h in range(heads):
                of = {"repeat": h % kv_heads, "first head": 0}.get(mistake, h * kv_heads // heads)
                products = (zip(q[start + r][h], k_cache[place][of], strict=True) for place in visible)
                scores = [scale * sum(a * b for a, b in pairs) for pairs in products]
                weights = [math.exp(score - max(scores)) for score in scores]
                for d in range(len(q[0][0])):
                    values = (w * v_cache[place][of][d] for w, place in zip(weights, visible, strict=True))
                    yield sum(values) / sum(weights)


def engine_jobs() -> list[EngineJob]:
    """The default runs, and prompts that hit prefixes of different lengths, whole and in chunks."""
    first, then = [P(0, 30)], [P(0, 8) + P(1, 5), P(0, 20) + P(2, 2), P(3, 6)]
    return [
        *default_jobs(),
        EngineJob(name="hits of different lengths", calls=[first, then]),
        EngineJob(name="in chunks", calls=[first, then], max_extend_tokens=7),
    ]


# --- Mutants ------------------------------------------------------------------------------------

_RIGHT = """\
import torch


def paged_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale):
    group = q.shape[1] // k_cache.shape[1]
    out = torch.empty_like(q)
    for i in range(len(cache_seqlens)):
        start, end, m = int(cu_seqlens_q[i]), int(cu_seqlens_q[i + 1]), int(cache_seqlens[i])
        n = end - start
        where = page_table[i, :m].long()
        k = k_cache[where].float().repeat_interleave(group, dim=1)
        v = v_cache[where].float().repeat_interleave(group, dim=1)
        mask = torch.ones(n, m).tril(m - n).bool()
        scores = torch.einsum("nhd,mhd->hnm", q[start:end].float(), k) * scale
        weights = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1)
        out[start:end] = torch.einsum("hnm,mhd->nhd", weights, v).to(q.dtype)
    return out
"""

MUTANTS = [
    Mutant(
        "a",
        _RIGHT.replace(".repeat_interleave(group, dim=1)", ".repeat(1, group, 1)"),
        zh="相邻的查询头共用一个 KV 头：要用 repeat_interleave，不是 repeat。",
        en="Neighbouring query heads share a KV head: that is repeat_interleave, not repeat.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, ".tril(m - n)", ".tril()"),
        zh="有前缀时掩码要右下对齐：查询是最后 n 个位置。",
        en="With a prefix, align the mask bottom right: the queries are the last n positions.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "* scale", "/ scale"),
        zh="应当乘以 scale，它已经是 D**-0.5 了。",
        en="Multiply by scale: it is D**-0.5 already.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, 'scores.masked_fill(~mask, float("-inf")).softmax', "scores.softmax"),
        zh="没有掩码：预填充时，后面的 token 也已经在池里，不能让前面的看见。",
        en="There is no mask: in prefill the later tokens are in the pool already, and must not be seen.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, "int(cache_seqlens[i])", "page_table.shape[1]"),
        zh="页表的行只有前 cache_seqlens[i] 个有意义，后面的不能拿去取。",
        en="Only the first cache_seqlens[i] entries of a row mean anything; fetch nothing by the others.",
    ),
    Mutant(
        "f",
        _RIGHT.replace(".float()", ""),
        zh="分数和 softmax 要在 float32 里算：bfloat16 只有 8 位有效数字。",
        en="Compute scores and softmax in float32: bfloat16 has just 8 significant bits.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "page_table[i, :m].long()", "torch.arange(m)"),
        zh="KV 是散落的，第 j 个 token 不在第 j 格：要查页表。",
        en="KV is scattered, and token j is not in slot j: ask the page table.",
    ),
    Mutant(
        "h",
        instead(_RIGHT, "torch.empty_like(q)", "torch.empty(q.shape)"),
        zh="结果要是 q 的 dtype，后面的投影等着它。",
        en="The result has q's dtype, which the projection behind it expects.",
    ),
    Mutant(
        "i",
        instead(_RIGHT, "page_table[i, :m]", "page_table[0, :m]"),
        zh="每个请求有自己的一行：第 i 个请求用 page_table[i]。",
        en="Each request has a row of its own: request i uses page_table[i].",
    ),
]
