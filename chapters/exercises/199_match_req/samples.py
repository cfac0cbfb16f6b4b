from types import SimpleNamespace

import torch

from minisgl.scheduler.cache import CacheManager


def start(page_size, cached):
    """A cache manager whose prefix cache holds the tokens 100, 101, ... up to `cached` of them."""
    manager = CacheManager(64 // page_size, page_size, torch.zeros((3, 64), dtype=torch.int32), "radix")
    ids = torch.arange(100, 100 + cached, dtype=torch.int32)
    manager.prefix_cache.insert_prefix(ids, torch.arange(cached, dtype=torch.int32))
    return manager


def request(length):
    """A waiting request whose prompt is 100, 101, ..."""
    ids = torch.arange(100, 100 + length, dtype=torch.int32)
    return SimpleNamespace(uid=7, input_ids=ids, input_len=length)


def hit(target, page_size, length, cached=20):
    """Length of the hit."""
    return target(start(page_size, cached), request(length)).cuda_handle.cached_len


def test_the_same_prompt_again(target):
    """页大小 1，提示全都在缓存里
    Pages of 1 token, and all of the prompt is cached"""
    assert hit(target, 1, 16) == 15, (
        "最后一个 token 要自己算，命中 15 个。\nThe last token has to be computed: 15 are hit."
    )


def test_whole_pages(target):
    """页大小 4
    Pages of 4 tokens"""
    assert hit(target, 4, 16) == 12, "匹配 15 个，取整页是 12。\n15 are matched, which are 12 in whole pages."
    assert hit(target, 4, 17) == 16, (
        "匹配 16 个，正好四页，只留一个 token。\n16 are matched, just four pages; one token is left."
    )


def test_one_token(target):
    """提示只有一个 token
    A prompt of one token"""
    result = target(start(1, 20), request(1))
    assert result is not None, "空匹配也要返回句柄。\nAn empty match is still a handle."
    assert result.cuda_handle.cached_len == 0, "唯一的 token 要自己算。\nThe only token has to be computed."


def test_longer_than_what_is_cached(target):
    """提示比缓存长，和空的提示
    A prompt longer than what is cached, and an empty one"""
    assert hit(target, 1, 30) == 20, "缓存里的 20 个都命中。\nAll 20 that are cached are hit."
    try:
        target(start(1, 20), request(0))
    except ValueError:
        return
    raise AssertionError("空的提示应当抛出 ValueError。\nAn empty prompt raises ValueError.")
