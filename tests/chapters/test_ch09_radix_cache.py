"""Chapter 9: one tree over all cached sequences; who shares, who locks, who is thrown out. The page shows
some of these tests.
"""

from __future__ import annotations

import random

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.kvcache import BaseCacheHandle, create_prefix_cache
from minisgl.kvcache.radix_cache import RadixPrefixCache
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict


def make_cache(page_size: int = 1) -> RadixPrefixCache:
    cache = create_prefix_cache(device=torch.device("cpu"), type="radix", page_size=page_size)
    assert isinstance(cache, RadixPrefixCache)
    return cache


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def insert(cache: RadixPrefixCache, ids: torch.Tensor, first: int) -> tuple[int, BaseCacheHandle]:
    """Insert a sequence whose KV lies from `first` on; what was cached before, and the handle."""
    locations = torch.arange(first, first + len(ids), dtype=torch.int32)
    return tuple(cache.insert_prefix(ids, locations))  # type: ignore[return-value]


def match(cache: RadixPrefixCache, ids: torch.Tensor) -> BaseCacheHandle:
    return cache.match_prefix(ids).cuda_handle


def edges(cache: RadixPrefixCache) -> dict[tuple[int, ...], int]:
    """The tokens of each node, and how often it is locked."""
    return {tuple(node._key.tolist()): node.ref_count for node in cache._nodes()}


def test_a_shared_prefix_is_stored_once() -> None:
    cache = make_cache()
    insert(cache, ints(1, 2, 3, 4), 0)
    cached, handle = insert(cache, ints(1, 2, 9), 10)
    assert set(edges(cache)) == {(1, 2), (3, 4), (9,)}  # 3 nodes, 5 of 7 tokens
    assert cached == 2  # the caller may free its own copy of these two
    assert handle.get_matched_indices().tolist() == [0, 1, 12]  # theirs, theirs, ours
    cache.check_integrity()


def test_only_whole_pages_are_kept_and_found() -> None:
    cache = make_cache(page_size=16)
    _, handle = insert(cache, torch.arange(30, dtype=torch.int32), 0)
    assert handle.cached_len == 16
    assert match(cache, torch.arange(31, dtype=torch.int32)).cached_len == 16
    assert match(cache, torch.arange(15, dtype=torch.int32)).cached_len == 0


def test_an_edge_is_cut_between_pages_only() -> None:
    cache = make_cache(page_size=4)
    insert(cache, ints(1, 2, 3, 4, 5, 6, 7, 8), 0)
    insert(cache, ints(1, 2, 3, 4, 5, 6, 9, 9), 8)  # six tokens are equal, one page is
    assert set(edges(cache)) == {(1, 2, 3, 4), (5, 6, 7, 8), (5, 6, 9, 9)}
    cache.check_integrity()


def test_matching_splits_an_edge() -> None:
    cache = make_cache()
    insert(cache, ints(1, 2, 3, 4), 0)
    assert match(cache, ints(1, 2, 7)).cached_len == 2
    assert set(edges(cache)) == {(1, 2), (3, 4)}  # nothing was inserted, and yet the tree has changed


def test_a_forked_node_inherits_the_locks() -> None:
    cache = make_cache()
    _, first = insert(cache, ints(1, 2, 3, 4), 0)
    cache.lock_handle(first)
    _, second = insert(cache, ints(1, 2, 9), 10)
    assert edges(cache) == {(1, 2): 1, (3, 4): 1, (9,): 0}  # the fork is in use, as the edge was
    assert cache.size_info == (1, 4)
    cache.lock_handle(second)
    assert edges(cache)[1, 2] == 2
    cache.lock_handle(first, unlock=True)
    assert edges(cache)[1, 2] == 1  # the old handle still finds its way up through the fork
    cache.lock_handle(second, unlock=True)
    assert edges(cache) == {(1, 2): 0, (3, 4): 0, (9,): 0}
    assert cache.size_info == (5, 0)


def test_a_locked_path_outlives_any_eviction() -> None:
    cache = make_cache()
    _, kept = insert(cache, ints(1, 2, 3, 4), 0)
    cache.lock_handle(kept)
    insert(cache, ints(1, 2, 9), 10)
    insert(cache, ints(5, 6), 20)
    assert sorted(cache.evict(3).tolist()) == [12, 20, 21]
    with pytest.raises(RuntimeError, match="only 0 are evictable"):
        cache.evict(1)
    assert kept.get_matched_indices().tolist() == [0, 1, 2, 3]
    cache.check_integrity()


def test_the_least_recently_used_leaf_goes_first_and_whole() -> None:
    cache = make_cache()
    insert(cache, ints(1, 1, 1, 1, 1), 0)
    insert(cache, ints(2, 2), 10)
    insert(cache, ints(3, 3), 20)
    match(cache, ints(2, 2))  # used again: now newer than the third
    assert cache.evict(2).tolist() == [0, 1, 2, 3, 4]  # two were asked for, five come
    assert cache.evict(2).tolist() == [20, 21]
    assert cache.evict(2).tolist() == [10, 11]


def test_a_parent_without_children_is_a_leaf() -> None:
    cache = make_cache()
    insert(cache, ints(1, 2, 3), 0)
    insert(cache, ints(1, 2, 4), 10)
    assert cache.evict(4).tolist() == [2, 12, 0, 1]  # leaves first, then the prefix that they shared
    assert cache.size_info == (0, 0)


def test_what_is_unlocked_can_be_hit_until_it_is_evicted() -> None:
    cache = make_cache()
    _, handle = insert(cache, ints(1, 2, 3), 0)
    cache.lock_handle(handle)
    cache.lock_handle(handle, unlock=True)
    assert match(cache, ints(1, 2, 3)).cached_len == 3
    cache.evict(3)
    assert match(cache, ints(1, 2, 3)).cached_len == 0


def test_an_unlock_too_many_is_an_error() -> None:
    cache = make_cache()
    _, handle = insert(cache, ints(1, 2), 0)
    with pytest.raises(RuntimeError, match="unlocked more often"):
        cache.lock_handle(handle, unlock=True)


@pytest.mark.parametrize("page_size", [1, 2])
def test_any_script_leaves_the_tree_whole(page_size: int) -> None:
    rng = random.Random(9)
    cache, held, fresh = make_cache(page_size), [], 0
    for _ in range(300):
        ids = torch.tensor([rng.randrange(3) for _ in range(rng.randrange(12))], dtype=torch.int32)
        if rng.random() < 0.5:
            _, handle = insert(cache, ids, fresh)
            fresh += 12
        else:
            handle = match(cache, ids)
            assert handle.cached_len <= len(ids)
        if rng.random() < 0.5:
            cache.lock_handle(handle)
            held.append((handle, handle.get_matched_indices().tolist()))
        if held and rng.random() < 0.4:
            cache.lock_handle(held.pop(rng.randrange(len(held)))[0], unlock=True)
        evictable = cache.size_info.evictable_size
        cache.evict(rng.randrange(evictable + 1) if rng.random() < 0.3 else 0)
        cache.check_integrity()
        assert all(handle.get_matched_indices().tolist() == kept for handle, kept in held)


def test_the_same_tokens_come_out_with_and_without_a_cache() -> None:
    config = tiny_config()
    weights = tiny_state_dict(config, seed=0)
    prompts = [prompt(0, 24) + prompt(i, 4) for i in range(4)]
    answers = []
    for cache_type in ("naive", "radix"):
        llm = LLM((config, weights), num_page_override=40, page_size=4, cache_type=cache_type)
        params = SamplingParams(max_tokens=6, ignore_eos=True)
        answers.append([llm.generate([ids], params)[0]["token_ids"] for ids in prompts * 2])
        llm.shutdown()
    assert answers[0] == answers[1]
