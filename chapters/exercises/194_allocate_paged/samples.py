from types import SimpleNamespace

import torch

from minisgl.scheduler.cache import CacheManager


def start(free, page_size=4):
    """8 pages, those in `free` free, in this order; four empty rows of 16 positions."""
    manager = CacheManager(8, page_size, torch.zeros((4, 16), dtype=torch.int32), "naive")
    manager.free_slots = torch.tensor(free, dtype=torch.int32)
    return manager


def request(row, cached_len, device_len):
    """A request that computes positions [cached_len, device_len) in this step."""
    return SimpleNamespace(uid=row, table_idx=row, cached_len=cached_len, device_len=device_len)


def test_example(target):
    """题目里的例子：一个新来，两个解码
    The example: one new, two decoding"""
    manager = start([8, 20, 0, 12])
    target(manager, [request(0, 0, 6), request(1, 6, 7), request(2, 8, 9)])
    assert manager.page_table[0, :9].tolist() == [8, 9, 10, 11, 20, 21, 22, 23, 0], (
        "新来的要两页，整页写进行里：8 个位置号，不只 6 个。\n"
        "The new one needs two pages, written whole: 8 locations, not just 6."
    )
    assert manager.page_table[1].tolist() == [0] * 16, (
        "第 1 页还空着两格，不用分，行也不动。\nPage 1 has room for two: nothing to allocate or write."
    )
    assert manager.page_table[2, 8:13].tolist() == [0, 1, 2, 3, 0], (
        "第 9 个 token 落在第 2 页，写位置 8 到 11。\nThe 9th token falls on page 2: write positions 8 to 11."
    )
    assert manager.free_slots.tolist() == [12], "一共取走 3 页。\n3 pages are taken."


def test_a_page_every_four_steps(target):
    """解码：每四步才分一页
    Decoding: a page every four steps"""
    manager, req = start([8, 20, 0, 12]), request(3, 0, 6)
    left = []
    for _ in range(8):
        target(manager, [req])
        left.append(len(manager.free_slots))
        req.cached_len, req.device_len = req.device_len, req.device_len + 1
    assert left == [2, 2, 2, 1, 1, 1, 1, 0], (
        "6 个 token 拿两页；device_len 为 9 和 13 的时候各拿一页。\n"
        "6 tokens take two pages; one more at a device_len of 9, and one at 13."
    )
    assert manager.page_table[3].tolist() == [8, 9, 10, 11, 20, 21, 22, 23, 0, 1, 2, 3, 12, 13, 14, 15], (
        "已经写好的位置不再改动。\nEntries that were written stay as they are."
    )


def test_a_page_half_full(target):
    """第 1 页写了一半，这一步要算 5 个
    Page 1 is half written, and this step computes 5"""
    manager = start([8, 20])
    manager.page_table[0, :8] = torch.arange(24, 32, dtype=torch.int32)
    target(manager, [request(0, 6, 11)])
    assert manager.page_table[0, :13].tolist() == [*range(24, 32), 8, 9, 10, 11, 0], (
        "只缺第 2 页，写位置 8 到 11；位置 6 和 7 早就有了。\n"
        "Only page 2 is missing: write positions 8 to 11; 6 and 7 are there already."
    )


def test_one_allocation(target):
    """整批只要一次
    One allocation for the batch"""
    manager = start([5, 2, 7, 1, 6], page_size=1)
    asked, allocate = [], manager._allocate

    def counting(needed):
        asked.append(needed)
        return allocate(needed)

    manager._allocate = counting
    target(manager, [request(0, 0, 2), request(1, 3, 4)])
    assert asked == [3], "2 页加 1 页，一次要来。\n2 pages and 1 page, asked for at once."
    assert (manager.page_table[0, :2].tolist(), manager.page_table[1, 3].tolist()) == ([5, 2], 7), (
        "先来的先分。\nWhoever comes first in the list gets the first pages."
    )


def test_nothing_to_do(target):
    """没有要分的页
    No page is needed"""
    manager = start([8, 20])
    target(manager, [])
    target(manager, [request(0, 5, 8)])
    assert manager.free_slots.tolist() == [8, 20], (
        "第 1 页写到第 8 个位置正好写满，它早就是这个请求的。\n"
        "Position 7 is the last of page 1, which the request has already."
    )
    assert manager.page_table[0].tolist() == [0] * 16, "页表不动。\nThe page table stays as it is."
