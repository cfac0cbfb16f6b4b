"""Plain data of requests in a paged KV pool: page table, free pages, cached prefixes."""

from __future__ import annotations

import random
from array import array
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from judge.authoring.prefix_cache import Prefix
from judge.authoring.tensors import int32, int32_rows


@dataclass
class Plan:
    """Requests by their tokens, calls (request, computed length, finished), prefixes cached before them.

    The last call of a request has all of its tokens computed.
    """

    page_size: int
    requests: list[list[int]]
    calls: list[tuple[int, int, bool]]
    cached: list[list[int]] = field(default_factory=list)


class Known(NamedTuple):
    """What the prefix cache knows: prefixes, and of each request the ids of the one that it holds."""

    cached: list[Prefix]
    held: list[bytes]


def tokens(rng: random.Random, count: int) -> list[int]:
    """Random token ids."""
    return _below(rng, 512, count)


def _below(rng: random.Random, bound: int, count: int) -> list[int]:
    """``count`` numbers in [0, bound), small ones a bit more often where bound divides no 65536."""
    words = array("H", rng.randbytes(2 * count))
    return [word % bound for word in words]


def _shuffled(rng: random.Random, count: int) -> list[int]:
    """0 to count - 1 in random order; ``rng.sample`` takes five times as long."""
    keys = array("I", rng.randbytes(4 * count))
    return sorted(range(count), key=keys.__getitem__)


def paged_pool(rng: random.Random, plan: Plan) -> tuple[dict[str, Any], Known]:
    """Deal out a shuffled pool: cached prefixes first, then what each request computes; the rest is free.

    Returns:
        What a box may have: ``page_size``, ``num_pages``; ``table`` int32 [requests + 1, width], where
        positions after a request's last token name anything; ``free`` int32, first locations of the free
        pages; ``rows``, ``hits`` (tokens) of the requests; ``ids`` int32 [requests, width], each request's
        tokens and one more; ``calls``, ``lengths`` and ``finished`` by call. Beside it what the cache knows.
    """
    size = plan.page_size
    first = {i: length for i, length, _ in reversed(plan.calls)}
    hits = [_hit(ids[: first[i] - 1], plan.cached, size) for i, ids in enumerate(plan.requests)]
    own = [-(-len(ids) // size) - hit // size for ids, hit in zip(plan.requests, hits, strict=True)]
    num_pages = sum(own) + sum(len(ids) // size for ids in plan.cached) + rng.randrange(4)
    pages = _shuffled(rng, num_pages)

    def deal(count: int) -> list[int]:
        taken = [pages.pop() for _ in range(count)]
        return [page * size + offset for page in taken for offset in range(size)]

    cached = [(ids[: len(ids) // size * size], deal(len(ids) // size)) for ids in plan.cached]
    width = max(len(ids) for ids in plan.requests) + size + 2
    table = [_below(rng, num_pages * size, width) for _ in range(len(plan.requests) + 1)]
    rows = _shuffled(rng, len(plan.requests))
    every_id = []
    for i, ids in enumerate(plan.requests):
        shared = next((locations for key, locations in cached if key[: hits[i]] == ids[: hits[i]]), [])
        locations = shared[: hits[i]] + deal(own[i])
        table[rows[i]][: len(locations)] = locations
        every_id.append([*ids, *tokens(rng, 1), *[0] * (width - len(ids) - 1)])
    data = {
        "page_size": size,
        "num_pages": num_pages,
        "table": int32_rows(table),
        "free": int32(page * size for page in pages),
        "rows": rows,
        "hits": hits,
        "ids": int32_rows(every_id),
        "calls": [request for request, _, _ in plan.calls],
        "lengths": [length for _, length, _ in plan.calls],
        "finished": [finished for _, _, finished in plan.calls],
    }
    held = [int32(ids[:hit]).raw for ids, hit in zip(plan.requests, hits, strict=True)]
    return data, Known([Prefix(int32(ids).raw, int32(places).raw) for ids, places in cached], held)


def _hit(ids: list[int], cached: list[list[int]], size: int) -> int:
    """Length of the longest cached prefix of ``ids`` in whole pages."""
    best = 0
    for key in cached:
        length = min(len(ids), len(key) // size * size)
        if ids[:length] != key[:length]:
            length = next(n for n in range(length) if ids[n] != key[n])
        best = max(best, length // size * size)
    return best
