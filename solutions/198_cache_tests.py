"""Reference for 198 `cache_tests`."""

from collections.abc import Callable
from typing import Any


def a_prefix_is_stored_once(make: Callable[[int], Any]) -> None:
    cache = make(1)
    held, _ = cache.insert([7, 8, 5], [30, 31, 32])
    again, _ = cache.insert([7, 8, 6, 4], [40, 41, 42, 43])
    assert (held, again, sum(cache.sizes())) == (0, 2, 5)


def locations_stay(make: Callable[[int], Any]) -> None:
    cache = make(1)
    cache.insert([1, 2, 3], [10, 11, 12])
    _, handle = cache.insert([1, 2, 3, 4], [20, 21, 22, 23])
    assert cache.indices(handle) == [10, 11, 12, 23]


def only_whole_pages_are_hit(make: Callable[[int], Any]) -> None:
    cache = make(4)
    cache.insert([1, 2, 3, 4, 5, 6, 7, 8], [0, 1, 2, 3, 8, 9, 10, 11])
    assert cache.match([1, 2, 3, 4, 5, 6])[0] == 4
    assert cache.match([1, 2, 3, 4, 5, 6, 9, 9])[0] == 4


def a_fork_inherits_the_lock(make: Callable[[int], Any]) -> None:
    cache = make(1)
    _, handle = cache.insert([1, 2, 3, 4], [10, 11, 12, 13])
    cache.lock(handle)
    cache.match([1, 2, 9])
    assert cache.sizes() == (0, 4)


def ancestors_are_unlocked(make: Callable[[int], Any]) -> None:
    cache = make(1)
    cache.insert([1, 2, 3, 4], [10, 11, 12, 13])
    _, handle = cache.insert([1, 2, 9], [20, 21, 22])
    cache.lock(handle)
    assert cache.sizes() == (2, 3)
    cache.unlock(handle)
    assert cache.sizes() == (5, 0)


def the_oldest_goes_first(make: Callable[[int], Any]) -> None:
    cache = make(1)
    for token in (1, 2, 3):
        cache.insert([token], [10 * token])
    cache.match([1])
    assert cache.evict(1) == [20]


def everything_can_go(make: Callable[[int], Any]) -> None:
    cache = make(1)
    cache.insert([1, 2, 3, 4], [10, 11, 12, 13])
    cache.insert([1, 2, 9], [20, 21, 22])
    assert len(cache.evict(5)) == 5
    assert cache.sizes() == (0, 0)


def check(make: Callable[[int], Any]) -> None:
    """Return for a right prefix cache, raise for a wrong one.

    Args:
        make: ``make(page_size)`` gives an empty cache, as the statement describes it. All caches that it
            gives in one call of ``check`` are of one kind, right or wrong.
    """
    # hint: 一条规则一个小测试，各用一个新的缓存 | A small test for each rule, each with a new cache
    # hint: 用 assert 比较答复；抛出任何异常都算判为坏的 | Compare answers with assert; any exception rejects
    for test in (
        a_prefix_is_stored_once,
        locations_stay,
        only_whole_pages_are_hit,
        a_fork_inherits_the_lock,
        ancestors_are_unlocked,
        the_oldest_goes_first,
        everything_can_go,
    ):
        test(make)
