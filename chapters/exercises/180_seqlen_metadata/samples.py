from types import SimpleNamespace

import torch


def request(cached_len, device_len):
    """A request that computes the tokens from `cached_len` to before `device_len`."""
    return SimpleNamespace(cached_len=cached_len, device_len=device_len, extend_len=device_len - cached_len)


def test_example(target):
    """题目里的例子：A、B、C
    The example: A, B and C"""
    cu_seqlens_q, cache_seqlens, last_indices = target([request(0, 6), request(4, 7), request(8, 9)])
    assert cu_seqlens_q.tolist() == [0, 6, 9, 10], (
        "查询是 6、3、1 个，累加起来，前面补 0。\n6, 3 and 1 queries, added up, with a 0 in front."
    )
    assert cache_seqlens.tolist() == [6, 7, 9], (
        "键是已经知道的全部 token。\nThe keys are all tokens that are known."
    )
    assert last_indices.tolist() == [5, 8, 9], (
        "每个请求最后一个查询的下标。\nThe index of each request's last query."
    )


def test_types(target):
    """三个张量的类型
    The types of the three"""
    cu_seqlens_q, cache_seqlens, last_indices = target([request(0, 2)])
    assert cu_seqlens_q.dtype == torch.int32, "边界是 int32。\nBoundaries are int32."
    assert cache_seqlens.dtype == torch.int32, "长度是 int32。\nLengths are int32."
    assert last_indices.dtype == torch.int64, "下标是 int64。\nIndices are int64."


def test_decodes(target):
    """三个解码的请求：每个一个查询
    Three requests that decode, one query each"""
    cu_seqlens_q, cache_seqlens, last_indices = target([request(8, 9), request(20, 21), request(5, 6)])
    assert cu_seqlens_q.tolist() == [0, 1, 2, 3], "一人一格。\nOne cell each."
    assert cache_seqlens.tolist() == [9, 21, 6], "键却有长有短。\nThe keys differ in number, though."
    assert last_indices.tolist() == [0, 1, 2], (
        "是在这一行里的下标，不是在各自序列里的位置。\nIndices in the row, not positions in each sequence."
    )


def test_nothing_to_compute(target):
    """一个请求什么也不算
    A request that computes nothing"""
    try:
        target([request(0, 3), request(5, 5)])
    except ValueError:
        return
    raise AssertionError(
        "`extend_len` 是 0 应当抛出 ValueError。\nAn `extend_len` of 0 is to raise ValueError."
    )
