"""State changed by hand, as mistakes of the scheduler or of a learner would: the idle check tells."""

from collections.abc import Callable

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))
GREEDY = SamplingParams(max_tokens=3, ignore_eos=True)


def nodes(llm: LLM) -> list:
    return list(llm.cache_manager.prefix_cache._nodes())


def leaf(llm: LLM):
    return next(node for node in nodes(llm) if node.is_leaf and not node.parent.is_root)


def swap_a_free_page_for_a_cached_one(llm: LLM) -> None:
    llm.cache_manager.free_slots[0] = leaf(llm).value[0]


def free_a_page_twice(llm: LLM) -> None:
    llm.cache_manager._free(llm.cache_manager.free_slots[:1])


def name_a_free_page_twice_in_place_of_another(llm: LLM) -> None:
    llm.cache_manager.free_slots[1] = llm.cache_manager.free_slots[0]


def lose_a_free_page(llm: LLM) -> None:
    llm.cache_manager.free_slots = llm.cache_manager.free_slots[1:]


def free_page_numbers_for_locations(llm: LLM) -> None:
    manager = llm.cache_manager
    manager.free_slots = manager.free_slots // manager.page_size


def free_beyond_the_pool(llm: LLM) -> None:
    llm.cache_manager.free_slots[0] = llm.cache_manager.num_pages * llm.cache_manager.page_size


def free_a_negative_location(llm: LLM) -> None:
    llm.cache_manager.free_slots[0] = -4


def free_inside_a_page(llm: LLM) -> None:
    llm.cache_manager.free_slots[0] += 1


def drop_a_leaf(llm: LLM) -> None:
    node = leaf(llm)
    del node.parent.children[node.key_fn(node._key)]


def drop_a_leaf_and_its_count(llm: LLM) -> None:
    drop_a_leaf(llm)
    llm.cache_manager.prefix_cache.evictable_size -= leaf(llm).length


def keep_an_evicted_page(llm: LLM) -> None:
    llm.cache_manager.prefix_cache.evict(1)  # and nobody takes what it gives up


def forget_to_count_an_eviction(llm: LLM) -> None:
    llm.cache_manager.prefix_cache.evictable_size += 4


def keep_a_lock(llm: LLM) -> None:
    llm.cache_manager.lock(
        llm.cache_manager.prefix_cache.match_prefix(torch.tensor(prompt(0, 8), dtype=torch.int32)).cuda_handle
    )


def unlock_once_too_often(llm: LLM) -> None:
    node = leaf(llm)
    node.ref_count -= 1


def lock_a_leaf_alone(llm: LLM) -> None:
    cache, node = llm.cache_manager.prefix_cache, leaf(llm)
    node.ref_count += 1
    cache.evictable_size -= node.length
    cache.protected_size += node.length


def cache_a_page_in_two_nodes(llm: LLM) -> None:
    first, second = nodes(llm)[:2]
    first._value[:4] = second._value[:4]


def hang_a_node_under_another_key(llm: LLM) -> None:
    node = leaf(llm)
    drop_a_leaf(llm)
    node.parent.children[(1, 1, 1, 1)] = node


def cut_a_node_inside_a_page(llm: LLM) -> None:
    node = leaf(llm)
    node.set_key_value(node._key[:-1], node._value[:-1])


def move_a_node_without_telling_it(llm: LLM) -> None:
    node, root = leaf(llm), llm.cache_manager.prefix_cache.root_node
    drop_a_leaf(llm)
    root.children[node.key_fn(node._key)] = node


def keep_a_row(llm: LLM) -> None:
    llm.table_manager.allocate()


@pytest.mark.parametrize(
    "plant",
    [
        swap_a_free_page_for_a_cached_one,
        free_a_page_twice,
        name_a_free_page_twice_in_place_of_another,
        lose_a_free_page,
        free_page_numbers_for_locations,
        free_beyond_the_pool,
        free_a_negative_location,
        free_inside_a_page,
        drop_a_leaf,
        drop_a_leaf_and_its_count,
        keep_an_evicted_page,
        forget_to_count_an_eviction,
        keep_a_lock,
        unlock_once_too_often,
        lock_a_leaf_alone,
        cache_a_page_in_two_nodes,
        hang_a_node_under_another_key,
        cut_a_node_inside_a_page,
        move_a_node_without_telling_it,
        keep_a_row,
    ],
)
def test_the_idle_check_finds(plant: Callable[[LLM], None]) -> None:
    llm = LLM(MODEL, num_page_override=32, page_size=4)
    llm.generate([prompt(0, 8) + prompt(1, 5), prompt(0, 8) + prompt(2, 6), prompt(3, 9)], GREEDY)
    llm.run_when_idle()
    assert len(nodes(llm)) == 5
    plant(llm)
    with pytest.raises(RuntimeError, match="integrity"):
        llm.run_when_idle()


def test_after_a_corruption_a_reset_makes_all_as_new() -> None:
    llm = LLM(MODEL, num_page_override=32, page_size=4)
    first = llm.generate([prompt(0, 9)], GREEDY)[0]["token_ids"]
    keep_a_lock(llm)
    with pytest.raises(RuntimeError, match=r"integrity .* 0 rows .* 8 cached tokens are locked"):
        llm.generate([prompt(1, 9)], GREEDY)
    assert llm.generate([prompt(0, 9)], GREEDY)[0]["token_ids"] == first
