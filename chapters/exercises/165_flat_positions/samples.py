from types import SimpleNamespace

import torch


def request(row, cached_len, device_len):
    """A request in `row` that computes the positions from `cached_len` to before `device_len`."""
    extend_len = device_len - cached_len
    return SimpleNamespace(table_idx=row, cached_len=cached_len, device_len=device_len, extend_len=extend_len)


def test_example(target):
    """题目里的例子：一个预填充，一个命中 4 个 token
    The example: a prefill, and a hit of 4 tokens"""
    rows, positions = target([request(2, 0, 3), request(0, 4, 5)])
    assert rows.tolist() == [2, 2, 2, 0], (
        "每个位置对应它的请求的行。\nEach position has the row of its request."
    )
    assert positions.tolist() == [0, 1, 2, 4], (
        "从 `cached_len` 数到 `device_len` 之前。\nCount from `cached_len` to before `device_len`."
    )


def test_types(target):
    """两个张量的类型
    The types of both"""
    rows, positions = target([request(1, 0, 2)])
    assert rows.dtype == torch.int64, "行号是下标：int64。\nRows are indices: int64."
    assert positions.dtype == torch.int32, "位置是 int32。\nPositions are int32."


def test_decodes(target):
    """三个解码的请求：每个一个 token
    Three requests that decode, a token each"""
    rows, positions = target([request(3, 8, 9), request(0, 20, 21), request(1, 5, 6)])
    assert rows.tolist() == [3, 0, 1], "按列表的次序，不按行号。\nIn the list's order, not by row."
    assert positions.tolist() == [8, 20, 5], (
        "算的是最后一个已知的 token。\nThe last token that is known is computed."
    )


def test_nobody(target):
    """没有请求
    No request"""
    rows, positions = target([])
    assert (len(rows), len(positions)) == (0, 0), "两个都是空的。\nBoth are empty."
    assert rows.dtype == torch.int64, "空的也是 int64，不是 float32。\nInt64 all the same, not float32."
