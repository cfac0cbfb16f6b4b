import math

import torch


def int32(values):
    return torch.tensor(values, dtype=torch.int32)


def close(one, other):
    return len(one) == len(other) and all(
        math.isclose(a, b, abs_tol=1e-5) for a, b in zip(one, other, strict=True)
    )


def test_example(target):
    """题目里的例子：结果是看得见的值的平均
    The example: results are means of the values that are seen"""
    v_cache = torch.tensor([2.0, 8.0, 700.0, 1.0, 10.0, 6.0]).view(6, 1, 1)
    k_cache = torch.arange(6.0).view(6, 1, 1)
    table = int32([[5, 0, 3], [1, 4, 99]])
    result = target(torch.zeros(3, 1, 1), k_cache, v_cache, table, int32([0, 2, 3]), int32([3, 2]), 1.0)
    assert close(result[:2].flatten().tolist(), [4.0, 3.0]), (
        "两个查询在位置 1 和 2，看见前两个和前三个键。\n"
        "The queries are at positions 1 and 2, and see the first two and the first three keys."
    )
    assert close(result[2:].flatten().tolist(), [9.0]), (
        "第二个请求只有两个键：位置 1 和 4。\nThe second request has just two keys, at locations 1 and 4."
    )


def test_scale(target):
    """点积 2 ln 3，scale 是 1/2：权重 3 比 1
    A dot product of 2 ln 3, scale 1/2: weights of 3 to 1"""
    k_cache = torch.tensor([math.log(3), 0.0]).view(2, 1, 1)
    v_cache = torch.tensor([4.0, 8.0]).view(2, 1, 1)
    q = torch.full((1, 1, 1), 2.0)
    result = target(q, k_cache, v_cache, int32([[0, 1]]), int32([0, 1]), int32([2]), 0.5)
    assert close(result.flatten().tolist(), [5.0]), (
        "分数是点积乘以 `scale`：(3 · 4 + 1 · 8) / 4 = 5。\n"
        "A score is the product times `scale`: (3 · 4 + 1 · 8) / 4 = 5."
    )


def test_heads(target):
    """四个查询头，两个 KV 头
    Four query heads, two KV heads"""
    v_cache = torch.tensor([[1.0, 2.0]]).view(1, 2, 1)
    q, k_cache = torch.zeros(1, 4, 1), torch.zeros(1, 2, 1)
    result = target(q, k_cache, v_cache, int32([[0]]), int32([0, 1]), int32([1]), 1.0)
    assert close(result.flatten().tolist(), [1.0, 1.0, 2.0, 2.0]), (
        "前两个查询头用第一个 KV 头，后两个用第二个。\n"
        "The first two query heads use the first KV head, the other two the second."
    )


def test_from_scratch(target):
    """没有命中：下三角
    No hit: the lower triangle"""
    v_cache = torch.tensor([9.0, 3.0, 0.0]).view(3, 1, 1)
    q, k_cache = torch.zeros(3, 1, 1), torch.zeros(3, 1, 1)
    result = target(q, k_cache, v_cache, int32([[1, 0, 2]]), int32([0, 3]), int32([3]), 1.0)
    assert close(result.flatten().tolist(), [3.0, 6.0, 4.0]), (
        "每个查询看得见自己和之前的键。\nEach query sees itself and the keys before it."
    )
