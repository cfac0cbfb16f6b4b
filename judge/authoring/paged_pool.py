"""Plain data of requests in a paged KV pool: page table, free pages, cached prefixes."""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class Plan:
    """Requests by their tokens, calls (request, computed length, finished), prefixes cached before them.

    The last call of a request has all of its tokens computed.
    """

    page_size: int
    requests: list[list[int]]
    calls: list[tuple[int, int, bool]]
    cached: list[list[int]] = field(default_factory=list)


def tokens(rng: random.Random, count: int) -> list[int]:
    """Random token ids."""
    return _below(rng, 512, count)


def _below(rng: random.Random, bound: int, count: int) -> list[int]:
    """``count`` numbers in [0, bound), small ones a bit more often where bound divides no 65536."""
    words = array("H", rng.randbytes(2 * count))
    return [word % bound for word in words]


def paged_pool(rng: random.Random, plan: Plan) -> dict[str, Any]:
    """Deal out a shuffled pool: cached prefixes first, then what each request computes; the rest is free.

    Returns:
        ``page_size``, ``num_pages``; ``table`` int32 [requests + 1, width], where positions after a request's
        last token name anything; ``free`` int32, first locations of the free pages; ``cached``, pairs (ids,
        locations); ``requests``, triples (row, tokens hit, tokens in all); ``ids`` int32 [requests, width],
        each request's tokens and one more; ``calls``.
    """
    size = plan.page_size
    first = {i: length for i, length, _ in reversed(plan.calls)}
    hits = [_hit(ids[: first[i] - 1], plan.cached, size) for i, ids in enumerate(plan.requests)]
    own = [-(-len(ids) // size) - hit // size for ids, hit in zip(plan.requests, hits, strict=True)]
    num_pages = sum(own) + sum(len(ids) // size for ids in plan.cached) + rng.randrange(4)
    pages = rng.sample(range(num_pages), num_pages)

    def deal(count: int) -> list[int]:
        taken = [pages.pop() for _ in range(count)]
        return [page * size + offset for page in taken for offset in range(size)]

    cached = [(ids[: len(ids) // size * size], deal(len(ids) // size)) for ids in plan.cached]
    width = max(len(ids) for ids in plan.requests) + size + 2
    table = [_below(rng, num_pages * size, width) for _ in range(len(plan.requests) + 1)]
    rows = rng.sample(range(len(plan.requests)), len(plan.requests))
    every_id = torch.zeros(len(plan.requests), width, dtype=torch.int32)
    for i, ids in enumerate(plan.requests):
        shared = next((locations for key, locations in cached if key[: hits[i]] == ids[: hits[i]]), [])
        locations = shared[: hits[i]] + deal(own[i])
        table[rows[i]][: len(locations)] = locations
        every_id[i, : len(ids) + 1] = _int32(ids + tokens(rng, 1))
    return {
        "page_size": size,
        "num_pages": num_pages,
        "table": torch.tensor(table, dtype=torch.int32),
        "free": _int32([page * size for page in pages]),
        "cached": [list(pair) for pair in cached],
        "requests": [[rows[i], hits[i], len(ids)] for i, ids in enumerate(plan.requests)],
        "ids": every_id,
        "calls": [list(call) for call in plan.calls],
    }


def _hit(ids: list[int], cached: list[list[int]], size: int) -> int:
    """Length of the longest cached prefix of ``ids`` in whole pages."""
    best = 0
    for key in cached:
        length = min(len(ids), len(key) // size * size)
        best = max(best, next((n for n in range(length) if ids[n] != key[n]), length) // size * size)
    return best


def _int32(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)
