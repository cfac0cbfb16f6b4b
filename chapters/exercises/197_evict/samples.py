import torch

from minisgl.kvcache.radix_cache import RadixPrefixCache


def start():
    """The tree of the example: [1, 2] with [3, 4, 5] and [9] below it, and [7, 8]."""
    cache = RadixPrefixCache(torch.device("cpu"))
    for ids, first in (([1, 2, 3, 4, 5], 0), ([1, 2, 9], 10), ([7, 8], 20)):
        locations = torch.arange(first, first + len(ids), dtype=torch.int32)
        cache.insert_prefix(torch.tensor(ids, dtype=torch.int32), locations)
    return cache


def match(cache, *ids):
    """The handle of what is cached of these ids."""
    return cache.match_prefix(torch.tensor(ids, dtype=torch.int32)).cuda_handle


def test_the_oldest_leaf_goes_whole(target):
    """最旧的叶子整个走
    The oldest leaf goes, all of it"""
    cache = start()
    freed = target(cache, 1)
    assert freed.tolist() == [2, 3, 4], (
        "[3, 4, 5] 最久没用，整个走。\n[3, 4, 5] was used least recently, and goes whole."
    )
    assert freed.dtype == torch.int32, "位置是 int32。\nLocations are int32."
    assert cache.size_info.evictable_size == 5, (
        "走了 3 个，还剩 5 个可以淘汰。\n3 have gone, 5 are left to evict."
    )
    assert match(cache, 1, 2, 3, 4, 5).cached_len == 2, (
        "走掉的不能再命中，上段还能。\nWhat has gone is not hit any more; the upper part still is."
    )


def test_a_parent_follows_its_children(target):
    """孩子走光，父结点接着走
    Without children, the parent goes next"""
    cache = start()
    target(cache, 1)
    assert target(cache, 3).tolist() == [12, 0, 1], (
        "[9] 走后 [1, 2] 没有孩子，比 [7, 8] 旧。\n"
        "After [9], [1, 2] has no children left and is older than [7, 8]."
    )
    assert list(cache.root_node.children) == [7], "只剩 [7, 8]。\nOnly [7, 8] is left."
    cache.check_integrity()


def test_a_locked_parent_stays(target):
    """父结点被锁着，不能走
    A locked parent stays"""
    cache = start()
    target(cache, 1)
    cache.lock_handle(match(cache, 1, 2))
    match(cache, 7, 8)  # now [7, 8] is younger than [1, 2]
    assert target(cache, 3).tolist() == [12, 20, 21], (
        "[1, 2] 更旧，但有请求在读，轮到 [7, 8]。\n[1, 2] is older, but a request reads it: [7, 8] goes."
    )
    assert cache.size_info == (0, 2), "只剩受保护的 2 个。\nOnly the 2 protected ones are left."
    cache.check_integrity()


def test_too_many_and_none(target):
    """要得太多，和一个也不要
    Too many, and none at all"""
    cache = start()
    raised = False
    try:
        target(cache, 9)
    except NotImplementedError:
        raise
    except RuntimeError:
        raised = True
    assert raised, "只有 8 个可以淘汰，要 9 个应当报错。\nOnly 8 can go; asking for 9 is an error."
    assert cache.size_info.evictable_size == 8 and match(cache, 1, 2, 3, 4, 5).cached_len == 5, (
        "报了错，就什么也不能变。\nAfter an error nothing may have changed."
    )
    assert len(target(cache, 0)) == 0, "要 0 个，就一个也不走。\nAsked for 0, nobody goes."
