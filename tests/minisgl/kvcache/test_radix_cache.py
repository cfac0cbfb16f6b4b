"""The radix prefix cache: matching, splitting, locking, evicting."""

import pytest
import torch

from minisgl.kvcache import create_prefix_cache
from minisgl.kvcache.radix_cache import RadixPrefixCache, RadixTreeNode

CPU = torch.device("cpu")


def ints(values) -> torch.Tensor:
    return torch.tensor(list(values), dtype=torch.int32)


def make(page_size: int = 1) -> RadixPrefixCache:
    cache = create_prefix_cache(device=CPU, type="radix", page_size=page_size)
    assert isinstance(cache, RadixPrefixCache)
    return cache


def insert(cache, ids, first_location: int):
    return cache.insert_prefix(ints(ids), ints(range(first_location, first_location + len(ids))))


def locations(cache, ids) -> list[int]:
    return cache.match_prefix(ints(ids)).cuda_handle.get_matched_indices().tolist()


def nodes(cache) -> list[RadixTreeNode]:
    return list(cache._nodes())


def test_an_empty_cache_matches_nothing_with_a_handle() -> None:
    handle = make().match_prefix(ints([1, 2, 3])).cuda_handle
    assert handle.cached_len == 0
    assert handle.get_matched_indices().dtype == torch.int32 and len(handle.get_matched_indices()) == 0


def test_a_shared_prefix_is_stored_once() -> None:
    cache = make()
    assert insert(cache, [1, 2, 3, 4], 10).cached_len == 0
    cached_len, handle = insert(cache, [1, 2, 9], 20)
    assert (cached_len, handle.cached_len) == (2, 3)
    assert len(nodes(cache)) == 3 and cache.size_info.total_size == 5
    assert locations(cache, [1, 2, 9]) == [10, 11, 22]
    assert locations(cache, [1, 2, 3, 4, 5]) == [10, 11, 12, 13]
    cache.check_integrity()


def test_inserting_again_keeps_the_old_locations() -> None:
    cache = make()
    insert(cache, [1, 2, 3], 0)
    cached_len, handle = insert(cache, [1, 2, 3, 4], 50)
    assert (cached_len, handle.cached_len) == (3, 4)
    assert handle.get_matched_indices().tolist() == [0, 1, 2, 53]


@pytest.mark.parametrize(("query", "found"), [([1, 2, 3], 0), ([1, 2, 3, 4, 5], 4), ([1, 2, 9, 4], 0)])
def test_only_whole_pages_match(query: list[int], found: int) -> None:
    cache = make(page_size=4)
    insert(cache, range(1, 9), 0)
    assert cache.match_prefix(ints(query)).cuda_handle.cached_len == found


def test_only_whole_pages_are_inserted() -> None:
    cache = make(page_size=16)
    _, handle = insert(cache, range(30), 0)
    assert handle.cached_len == 16 == cache.size_info.total_size


def test_stored_ids_and_locations_are_copies() -> None:
    cache = make()
    ids, indices = ints([1, 2, 3]), ints([7, 8, 9])
    cache.insert_prefix(ids, indices)
    ids.zero_()
    indices.zero_()
    assert locations(cache, [1, 2, 3]) == [7, 8, 9]


def test_a_fork_inherits_the_locks() -> None:
    cache = make()
    insert(cache, [1, 2, 3, 4], 0)
    first = cache.match_prefix(ints([1, 2, 3, 4])).cuda_handle
    cache.lock_handle(first)
    _, second = insert(cache, [1, 2, 9], 10)
    shared = cache.root_node.children[1]
    locks = [shared.ref_count]
    cache.lock_handle(second)
    locks.append(shared.ref_count)
    assert cache.size_info == (0, 5)
    cache.lock_handle(first, unlock=True)
    locks.append(shared.ref_count)
    cache.lock_handle(second, unlock=True)
    locks.append(shared.ref_count)
    assert locks == [1, 2, 1, 0]
    assert cache.size_info == (5, 0)
    assert first.get_matched_indices().tolist() == [0, 1, 2, 3]


def test_split_at_refuses_an_empty_part() -> None:
    cache = make()
    _, handle = insert(cache, [1, 2], 0)
    for position in (0, 2):
        with pytest.raises(ValueError, match="cannot split"):
            handle.node.split_at(position)


def test_evicts_the_least_recently_used_first() -> None:
    cache = make()
    insert(cache, [1, 1], 0)
    insert(cache, [2, 2], 10)
    insert(cache, [3, 3], 20)
    cache.match_prefix(ints([1, 1]))
    assert cache.evict(1).tolist() == [10, 11]  # whole nodes: 2 tokens for 1
    assert cache.evict(3).tolist() == [20, 21, 0, 1]
    assert cache.size_info == (0, 0)


def test_the_shared_part_of_a_fork_was_just_used() -> None:
    cache = make()
    insert(cache, [1, 1, 1, 1], 0)
    insert(cache, [2, 2], 10)
    cache.match_prefix(ints([1, 1, 7]))
    assert cache.evict(2).tolist() == [2, 3]
    assert cache.evict(2).tolist() == [10, 11]


def test_a_parent_without_children_is_evicted_next() -> None:
    cache = make()
    insert(cache, [1, 2, 3, 4], 0)
    insert(cache, [1, 2, 9], 10)
    assert sorted(cache.evict(5).tolist()) == [0, 1, 2, 3, 12]
    assert not cache.root_node.children
    assert cache.evict(0).dtype == torch.int32


def test_what_is_locked_stays() -> None:
    cache = make()
    insert(cache, [1, 2, 3, 4], 0)
    insert(cache, [1, 2, 9], 10)
    cache.lock_handle(cache.match_prefix(ints([1, 2])).cuda_handle)
    assert cache.size_info == (3, 2)
    with pytest.raises(RuntimeError, match="only 3"):
        cache.evict(4)
    assert cache.size_info == (3, 2)
    cache.evict(3)
    assert locations(cache, [1, 2, 3]) == [0, 1]
    cache.check_integrity()


def test_a_locked_parent_stays_when_its_last_child_goes() -> None:
    cache = make()
    insert(cache, [1, 2, 3, 4], 0)
    cache.lock_handle(cache.match_prefix(ints([1, 2])).cuda_handle)
    insert(cache, [5, 6], 10)
    assert cache.evict(4).tolist() == [2, 3, 10, 11]  # [1, 2] was used before [5, 6]
    assert cache.size_info == (0, 2)


def test_unlocking_too_often_is_an_error() -> None:
    cache = make()
    _, handle = insert(cache, [1], 0)
    with pytest.raises(RuntimeError, match="unlocked more often"):
        cache.lock_handle(handle, unlock=True)


def test_reset_forgets_everything_unless_something_is_locked() -> None:
    cache = make()
    _, handle = insert(cache, [1, 2], 0)
    cache.lock_handle(handle)
    with pytest.raises(RuntimeError, match="locked"):
        cache.reset()
    cache.lock_handle(handle, unlock=True)
    cache.reset()
    assert cache.size_info == (0, 0) and locations(cache, [1, 2]) == []


def test_matching_visits_nodes_and_not_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = 0
    original = RadixTreeNode.get_match_len

    def counting(self: RadixTreeNode, input_ids: torch.Tensor) -> int:
        nonlocal visits
        visits += 1
        return original(self, input_ids)

    monkeypatch.setattr(RadixTreeNode, "get_match_len", counting)
    cache = make()
    insert(cache, range(5000), 0)
    assert cache.match_prefix(ints(range(5000))).cuda_handle.cached_len == 5000
    assert visits == 1


def _tree_with_a_fork() -> RadixPrefixCache:
    cache = make(page_size=2)
    insert(cache, [1, 2, 3, 4], 0)
    insert(cache, [1, 2, 9, 9], 10)
    cache.check_integrity()
    return cache


def _shared(cache: RadixPrefixCache) -> RadixTreeNode:
    return cache.root_node.children[(1, 2)]


def _spoil_parent(cache: RadixPrefixCache) -> None:
    next(iter(_shared(cache).children.values()))._parent = cache.root_node


def _spoil_locks(cache: RadixPrefixCache) -> None:
    next(iter(_shared(cache).children.values())).ref_count = 1


def _spoil_size(cache: RadixPrefixCache) -> None:
    cache.evictable_size += 2


def _spoil_alignment(cache: RadixPrefixCache) -> None:
    node = _shared(cache)
    node.set_key_value(node._key[:1], node.value[:1])


def _spoil_page(cache: RadixPrefixCache) -> None:
    _shared(cache).value[0] = 1


def _spoil_owner(cache: RadixPrefixCache) -> None:
    for node in _shared(cache).children.values():
        node._value = _shared(cache).value.clone()


def _spoil_key(cache: RadixPrefixCache) -> None:
    _shared(cache)._key[0] = 5


@pytest.mark.parametrize(
    "spoil",
    [
        _spoil_parent,
        _spoil_locks,
        _spoil_size,
        _spoil_alignment,
        _spoil_page,
        _spoil_owner,
        _spoil_key,
    ],
)
def test_the_integrity_check_finds(spoil) -> None:
    cache = _tree_with_a_fork()
    spoil(cache)
    with pytest.raises(RuntimeError, match="integrity"):
        cache.check_integrity()
