from types import SimpleNamespace

import torch

from minisgl.scheduler.cache import CacheManager


def numbers(first, last):
    """Consecutive token ids or locations, int32."""
    return torch.arange(first, last, dtype=torch.int32)


def start(free):
    """8 pages of 4 tokens, radix cache, the pages in `free` free; the rows of two requests are empty."""
    manager = CacheManager(8, 4, torch.zeros((3, 16), dtype=torch.int32), "radix")
    manager.free_slots = torch.tensor(free, dtype=torch.int32)
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


def free_pages(manager):
    """The free pages, ascending."""
    return sorted(manager.free_slots.tolist())


def test_alone_going_on(target):
    """只有一个请求，还要继续
    A request alone, going on"""
    manager = start([12, 16, 20, 24, 28])
    req = request(manager, 0, numbers(50, 60), numbers(0, 10))
    target(manager, req, finished=False)
    assert free_pages(manager) == [12, 16, 20, 24, 28], (
        "没有一页该归还：前两页归缓存，尾巴 [8, 10) 请求还要用。\n"
        "No page is to be given back: two are the cache's now, and the request still uses the tail [8, 10)."
    )
    assert req.cache_handle.cached_len == 8, (
        "请求改持 new，它有两整页。\nThe request holds new, which has two whole pages."
    )
    assert manager.prefix_cache.size_info.protected_size == 8, (
        "请求还要读这 8 个 token，new 要锁住。\nThe request still reads these 8 tokens: new is to be locked."
    )


def test_alone_finished(target):
    """只有一个请求，已结束
    A request alone, finished"""
    manager = start([12, 16, 20, 24, 28])
    req = request(manager, 0, numbers(50, 60), numbers(0, 10))
    target(manager, req, finished=True)
    assert free_pages(manager) == [8, 12, 16, 20, 24, 28], (
        "尾巴 [8, 10) 不满一页，缓存没有收；请求已经结束，除了这里不会再有人归还它。\n"
        "The tail [8, 10) fills no page, so the cache did not take it; the request is finished, so nobody "
        "else will give it back."
    )
    manager.check_integrity()
    assert manager.prefix_cache.size_info.protected_size == 0, (
        "结束的请求不再锁着什么。\nA finished request locks nothing any more."
    )


def test_same_prefix_inserted_meanwhile(target):
    """同一前缀被别人先插入
    The same prefix inserted meanwhile"""
    manager = start([24, 28])
    first = request(manager, 0, numbers(50, 60), numbers(0, 10))
    second = request(manager, 1, numbers(50, 60), numbers(12, 22))
    target(manager, first, finished=False)
    target(manager, second, finished=False)
    assert free_pages(manager) == [12, 16, 24, 28], (
        "缓存已有这两页的内容，第二个请求自己的 12 和 16 要归还。\n"
        "The cache has these two pages, so the second request's own, 12 and 16, are to be given back."
    )
    assert row_of(manager, second) == [0, 1, 2, 3, 4, 5, 6, 7, 20, 21], (
        "第二个请求还要读：它的行要改指缓存的那一份，尾巴不动。\n"
        "The second request reads on: its row names the cache's copy, the tail stays."
    )


def test_locked_prefix_is_left_alone(target):
    """锁住的前缀不去动它
    A locked prefix is left alone"""
    manager = start([12, 16, 20, 24, 28])
    manager.prefix_cache.insert_prefix(numbers(50, 54), numbers(0, 4))
    locations = torch.cat([numbers(0, 4), numbers(4, 9)])
    req = request(manager, 1, numbers(50, 59), locations)
    target(manager, req, finished=True)
    assert free_pages(manager) == [8, 12, 16, 20, 24, 28], (
        "只归还尾页 8：A 段（页 0）在请求开始之前就在缓存里，C 段（页 4）刚移交给缓存。\n"
        "Only the tail, page 8, is to be given back: region A, page 0, was in the cache before the request "
        "began, and region C, page 4, is the cache's now."
    )
    manager.check_integrity()
