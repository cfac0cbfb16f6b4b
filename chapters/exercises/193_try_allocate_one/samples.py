from types import SimpleNamespace

import torch

from minisgl.scheduler.cache import CacheManager
from minisgl.scheduler.prefill import PrefillAdder
from minisgl.scheduler.table import TableManager


def numbers(first, last):
    """Consecutive token ids or locations, int32."""
    return torch.arange(first, last, dtype=torch.int32)


def start(pages, reserved=0, rows=2):
    """A pool of `pages` pages of 1 token, of which 6 hold the cached prefix 50 ... 55; `rows` free slots."""
    table = torch.zeros((rows + 1, 32), dtype=torch.int32)
    cache = CacheManager(pages, 1, table, "radix")
    cache.prefix_cache.insert_prefix(numbers(50, 56), numbers(0, 6))
    cache.free_slots = numbers(6, pages)
    return PrefillAdder(64, reserved, cache, TableManager(rows, table))


def request(ids, output_len):
    """A waiting request."""
    return SimpleNamespace(uid=7, input_ids=ids, input_len=len(ids), output_len=output_len)


def locked(adder):
    """Tokens of the prefix cache that some lock protects."""
    return adder.cache_manager.prefix_cache.size_info.protected_size


def test_admitted_with_a_hit(target):
    """命中 6 个 token，放得下
    A hit of 6 tokens, and it fits"""
    adder = start(pages=18)
    result = target(adder, request(numbers(50, 60), 8))
    assert result is not None, (
        "需要 10 - 6 + 8 = 12，上锁之后还有 12 个空闲，正好放得下。\n"
        "10 - 6 + 8 = 12 are needed, and 12 are free after the lock: it just fits."
    )
    handle, slot = result
    assert adder.table_manager.page_table[slot, :7].tolist() == [0, 1, 2, 3, 4, 5, 0], (
        "命中前缀的位置写进这一行，只写这 6 个。\n"
        "The locations of the hit prefix go into this row, these 6 and no more."
    )
    assert adder.table_manager.token_pool[slot, :7].tolist() == [50, 51, 52, 53, 54, 55, 0], (
        "命中前缀的 token 写进 token_pool。\nThe tokens of the hit prefix go into token_pool."
    )
    assert (handle.cached_len, locked(adder)) == (6, 6), "返回的句柄要锁着。\nThe handle returned is locked."


def test_refused_at_the_second_look(target):
    """题目里的例子：上锁之后放不下
    The example: it does not fit after the lock"""
    adder = start(pages=16)
    assert target(adder, request(numbers(50, 60), 8)) is None, (
        "需要 12；上锁之前可用 16，上锁之后只有 10。\n"
        "12 are needed; 16 are available before the lock, only 10 after it."
    )
    assert locked(adder) == 0, "被拒绝的请求不能留下锁。\nA refused request leaves no lock."
    assert adder.table_manager.available_size == 2, "被拒绝的请求不占槽位。\nA refused request takes no slot."


def test_reserved_for_others(target):
    """别的请求预留了一部分
    A part is reserved for others"""
    adder = start(pages=18, reserved=1)
    assert target(adder, request(numbers(50, 60), 8)) is None, (
        "需要 12，加上预留的 1 是 13，上锁之后只有 12。\n"
        "12 and the 1 reserved make 13; after the lock only 12 are there."
    )


def test_no_slot(target):
    """没有空槽位
    No free slot"""
    adder = start(pages=32, rows=1)
    adder.table_manager.allocate()
    assert target(adder, request(numbers(50, 60), 8)) is None, (
        "页再多，没有槽位也进不来。\nHowever many pages are free, without a slot it cannot come in."
    )
