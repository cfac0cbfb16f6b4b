"""Every page of a pool that is dealt out has one owner at the start."""

from __future__ import annotations

import random

import pytest

from judge.authoring.paged_pool import Plan, paged_pool, tokens


@pytest.mark.parametrize("size", [1, 4, 16])
@pytest.mark.parametrize("seed", range(5))
def test_each_page_has_one_owner(size: int, seed: int) -> None:
    rng = random.Random(seed)
    shared = tokens(rng, 3 * size + 1)
    requests = [shared + tokens(rng, 5), shared[:size] + tokens(rng, size + 1), tokens(rng, 1)]
    calls = [(0, size + 2, False), (1, len(requests[1]), True), (0, len(requests[0]), False), (2, 1, True)]
    data = paged_pool(rng, Plan(size, requests, calls, [shared]))

    ((key, places),) = data["cached"]
    assert key == shared[: len(shared) // size * size] and len(places) == len(key)
    hits = [hit for _, hit, _ in data["requests"]]
    assert hits == [(size + 1) // size * size, size, 0]  # one token is always left to compute
    owned = {place // size for place in places}
    for i, (row, hit, length) in enumerate(data["requests"]):
        ids, locations = data["ids"][i].tolist(), data["table"][row].tolist()
        assert ids[:length] == requests[i]
        assert locations[:hit] == places[:hit]
        pages = [locations[first] for first in range(hit, length, size)]
        assert all(first % size == 0 for first in pages)
        assert all(locations[p] == locations[p // size * size] + p % size for p in range(hit, length))
        assert not owned & {first // size for first in pages}
        owned |= {first // size for first in pages}
    free = {first // size for first in data["free"].tolist()}
    assert not owned & free and owned | free == set(range(data["num_pages"]))
