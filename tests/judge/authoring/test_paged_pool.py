"""Every page of a pool that is dealt out has one owner at the start."""

from __future__ import annotations

import random
from array import array

import pytest

from judge.authoring.paged_pool import Plan, paged_pool, tokens


@pytest.mark.parametrize("size", [1, 4, 16])
@pytest.mark.parametrize("seed", range(5))
def test_each_page_has_one_owner(size: int, seed: int) -> None:
    rng = random.Random(seed)
    shared = tokens(rng, 3 * size + 1)
    requests = [shared + tokens(rng, 5), shared[:size] + tokens(rng, size + 1), tokens(rng, 1)]
    calls = [(0, size + 2, False), (1, len(requests[1]), True), (0, len(requests[0]), False), (2, 1, True)]
    data, known = paged_pool(rng, Plan(size, requests, calls, [shared]))

    key, places = ([*array("i", part)] for part in known.cached[0])
    assert key == shared[: len(shared) // size * size] and len(places) == len(key)
    hits = data["hits"]
    assert [[*array("i", ids)] for ids in known.held] == [
        ids[:hit] for ids, hit in zip(requests, hits, strict=True)
    ]
    assert hits == [(size + 1) // size * size, size, 0]  # one token is always left to compute
    owned = {place // size for place in places}
    for i, (row, hit, length) in enumerate(zip(data["rows"], hits, map(len, requests), strict=True)):
        ids, locations = data["ids"].tolist()[i], data["table"].tolist()[row]
        assert ids[:length] == requests[i]
        assert locations[:hit] == places[:hit]
        pages = [locations[first] for first in range(hit, length, size)]
        assert all(first % size == 0 for first in pages)
        assert all(locations[p] == locations[p // size * size] + p % size for p in range(hit, length))
        assert not owned & {first // size for first in pages}
        owned |= {first // size for first in pages}
    free = {first // size for first in data["free"].tolist()}
    assert not owned & free and owned | free == set(range(data["num_pages"]))
