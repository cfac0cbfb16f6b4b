import torch

from minisgl.kvcache.radix_cache import RadixPrefixCache


def int32(numbers):
    """A tensor of the engine's kind."""
    return torch.tensor(numbers, dtype=torch.int32)


class Right:
    """The engine's radix cache, with lists for tensors and numbers for handles."""

    def __init__(self, page_size):
        self.cache = RadixPrefixCache(torch.device("cpu"), page_size)
        self.handles = []

    def numbered(self, cached_len, handle):
        """Keep a handle and give it a number."""
        self.handles.append(handle)
        return cached_len, len(self.handles) - 1

    def insert(self, ids, locs):
        return self.numbered(*self.cache.insert_prefix(int32(ids), int32(locs)))

    def match(self, ids):
        handle = self.cache.match_prefix(int32(ids)).cuda_handle
        return self.numbered(handle.cached_len, handle)

    def lock(self, handle):
        self.cache.lock_handle(self.handles[handle])

    def unlock(self, handle):
        self.cache.lock_handle(self.handles[handle], unlock=True)

    def evict(self, n):
        return self.cache.evict(n).tolist()

    def sizes(self):
        return tuple(self.cache.size_info)

    def indices(self, handle):
        return self.handles[handle].get_matched_indices().tolist()


class HitsNothing(Right):
    def match(self, ids):
        return super().match([])


class LocksNothing(Right):
    def lock(self, handle):
        pass

    def unlock(self, handle):
        pass


class EvictsTwice(Right):
    def evict(self, n):
        locations = super().evict(n)
        return locations + locations[:1]


def rejected(check, make):
    """Whether the tests raise."""
    try:
        check(make)
    except NotImplementedError:
        raise
    except Exception:
        return True
    return False


def test_the_right_cache_is_spared(target):
    """对的缓存要放过
    The right cache is spared"""
    target(Right)


def test_a_cache_that_hits_nothing(target):
    """什么也命不中的缓存
    A cache that hits nothing"""
    assert rejected(target, HitsNothing), (
        "插入过的前缀，match 一个也找不到，测试却没有发现。\n"
        "match finds nothing of what was inserted, and the tests do not notice."
    )


def test_a_cache_that_locks_nothing(target):
    """上锁不起作用的缓存
    A cache whose locks do nothing"""
    assert rejected(target, LocksNothing), (
        "上锁以后受保护的长度还是 0，测试却没有发现。\n"
        "After a lock the protected size is still 0, and the tests do not notice."
    )


def test_a_cache_that_evicts_twice(target):
    """同一个位置交出两次的缓存
    A cache that gives up a location twice"""
    assert rejected(target, EvictsTwice), (
        "淘汰交出的位置里有一个重复，测试却没有发现。\n"
        "One of the locations that eviction gives up comes twice, and the tests do not notice."
    )
