"""The trusted prefix cache answers as the engine's radix cache does."""

from __future__ import annotations

import random

import pytest
import torch

from judge.authoring.prefix_cache import LONGEST, MOST_INSERTS, Prefix, PrefixCache
from judge.authoring.tensors import int32, int32_rows
from judge.sandbox.protocol import TensorData, arrived
from judge.types import Refused
from minisgl.kvcache import create_prefix_cache


def raw(values: list[int]) -> bytes:
    return int32(values).raw


@pytest.mark.parametrize("page_size", [1, 2, 4, 16])
@pytest.mark.parametrize("seed", range(5))
def test_same_answers_as_the_radix_cache(page_size: int, seed: int) -> None:
    rng = random.Random(seed)
    radix = create_prefix_cache(device=torch.device("cpu"), type="radix", page_size=page_size)
    ours = PrefixCache(page_size, [], [])
    for round_number in range(30):
        ids = [rng.randrange(2) for _ in range(rng.randrange(5 * page_size + 2))]
        pages = rng.sample(range(100 * round_number, 100 * round_number + 99), len(ids) // page_size + 1)
        locations = [page * page_size + offset for page in pages for offset in range(page_size)][: len(ids)]
        held, number, places = ours.insert(int32(ids), int32(locations))
        cached_len, handle = radix.insert_prefix(int32(ids).torch(), int32(locations).torch())
        assert (held, places.shape[0]) == (cached_len, handle.cached_len)
        assert number == round_number
        assert places.tolist() == handle.get_matched_indices().tolist()
    radix.check_integrity()


def test_requests_begin_with_their_handles() -> None:
    cache = PrefixCache(2, [Prefix(raw([1, 2, 3, 4]), raw([8, 9, 4, 5]))], [raw([1, 2]), b""])
    held, number, places = cache.insert(int32([1, 2, 3, 4, 7]), int32([0, 1, 2, 3, 6]))
    assert (held, number, places.tolist()) == (4, 2, [8, 9, 4, 5])
    held, number, places = cache.insert(int32([1, 2, 7, 7, 7]), int32([0, 1, 2, 3, 6]))
    assert (held, number, places.tolist()) == (2, 3, [8, 9, 2, 3])
    inserts = [[ids.tolist(), locations.tolist()] for ids, locations in cache.report()]
    assert inserts == [[[1, 2, 3, 4], []], [[1, 2, 7, 7], [2, 3]]]


@pytest.mark.parametrize(
    ("ids", "locations"),
    [
        ([1, 2], int32([0, 1])),
        (int32([1, 2]), int32([0])),
        (TensorData("int64", [2], bytes(16)), int32([0, 1])),
        (int32_rows([[1, 2]]), int32_rows([[0, 1]])),
        (None, None),
    ],
)
def test_arguments_of_another_kind_break_a_rule(ids: object, locations: object) -> None:
    with pytest.raises(Refused) as refused:
        PrefixCache(1, [], []).insert(ids, locations)
    assert refused.value.broken.rule == 1


def test_a_box_cannot_fill_the_judges_memory() -> None:
    cache = PrefixCache(1, [], [])
    with pytest.raises(Refused):
        cache.insert(int32([-(1 << 31)] * (LONGEST + 1)), int32([0] * (LONGEST + 1)))
    for _ in range(MOST_INSERTS):
        cache.insert(int32([-(1 << 31)] * LONGEST), int32([-(1 << 31)] * LONGEST))
    with pytest.raises(Refused):
        cache.insert(int32([1]), int32([0]))
    assert arrived(cache.report()) == cache.report()  # what is longest can still be compared
