from types import SimpleNamespace

import torch

from minisgl.scheduler.cache import CacheManager


def numbers(first, last):
    """Consecutive token ids or locations, int32."""
    return torch.arange(first, last, dtype=torch.int32)


def start(pages, page_size, used):
    """A pool with a radix cache, of which the first `used` pages are in use; the rows are empty."""
    manager = CacheManager(pages, page_size, torch.zeros((3, 32), dtype=torch.int32), "radix")
    manager.free_slots = manager.free_slots[used:]
    return manager


def request(manager, row, ids, locations):
    """A request that has computed `ids`, with their KV at `locations`; the prefix found is locked."""
    manager.page_table[row, : len(locations)] = locations
    handle = manager.prefix_cache.match_prefix(ids[: len(ids) - 1]).cuda_handle
    manager.lock(handle)
    return SimpleNamespace(
        uid=row,
        table_idx=row,
        input_ids=torch.cat([ids, numbers(99, 100)]),
        cached_len=len(ids),
        device_len=len(ids) + 1,
        cache_handle=handle,
    )


def row_of(manager, req):
    """Where the request's KV lies, as its row says."""
    return manager.page_table[req.table_idx, : req.cached_len].tolist()


def test_two_identical_prompts(target):
    """题目里的例子：两个一样的提示，都要继续
    The example: two identical prompts, both going on"""
    manager = start(32, 1, 16)
    first = request(manager, 0, numbers(50, 58), numbers(0, 8))
    second = request(manager, 1, numbers(50, 58), numbers(8, 16))
    target(manager, first, finished=False)
    target(manager, second, finished=False)
    assert len(manager.free_slots) == 24, (
        "第二个请求自己的 8 页归还，缓存的 8 页留着。\n"
        "The second request's own 8 pages are given back, the cache's 8 stay."
    )
    taken = manager._allocate(24).tolist()
    assert [place for place in row_of(manager, second) if place in taken] == [], (
        "下一个请求拿走了空闲的页，第二个请求的行里还写着它们。\n"
        "The next request takes the free pages, and the second request's row still names them."
    )
    assert row_of(manager, second) == [0, 1, 2, 3, 4, 5, 6, 7], (
        "它还要读，读的应当是缓存的那一份。\nIt reads on, and what it is to read is the cache's copy."
    )


def test_behind_a_prefix_found_before(target):
    """开头一页早就命中，后面两页算重了
    The first page was a hit, the next two are computed twice"""
    manager = start(12, 4, 8)
    manager.prefix_cache.insert_prefix(numbers(50, 54), numbers(0, 4))
    first = request(manager, 0, numbers(50, 64), torch.cat([numbers(0, 4), numbers(4, 14)]))
    second = request(manager, 1, numbers(50, 64), torch.cat([numbers(0, 4), numbers(16, 26)]))
    target(manager, first, finished=False)
    target(manager, second, finished=False)
    assert row_of(manager, second) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 24, 25], (
        "位置 4 到 11 改指缓存的页 4 和 8，尾巴不动。\n"
        "Positions 4 to 11 name the cache's pages 4 and 8; the tail stays."
    )
    assert sorted(manager.free_slots.tolist()) == [16, 20, 32, 36, 40, 44], (
        "归还的是自己的页 16 和 20，不是缓存的。\n"
        "What is given back are its own pages 16 and 20, not the cache's."
    )


def test_finished(target):
    """第二个请求已经结束
    The second request is finished"""
    manager = start(32, 1, 16)
    first = request(manager, 0, numbers(50, 58), numbers(0, 8))
    second = request(manager, 1, numbers(50, 58), numbers(8, 16))
    target(manager, first, finished=True)
    target(manager, second, finished=True)
    manager.check_integrity()
    assert len(manager.free_slots) == 24, (
        "没有人再读它的行，8 页照样归还。\nNobody reads its row any more; the 8 pages are given back as well."
    )
