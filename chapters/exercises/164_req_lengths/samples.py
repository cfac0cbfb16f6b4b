import inspect

import torch

from minisgl import core

MEMBERS = ("extend_len", "remain_len", "can_decode", "complete_one", "append_host")


def request(target, prompt, hit, output):
    """The engine's request with the five members of the target."""
    members = {name: inspect.getattr_static(target, name) for name in MEMBERS}
    kind = type("Req", (core.Req,), members)
    ids = torch.arange(50, 50 + prompt, dtype=torch.int32)
    return kind(ids, 0, hit, output, 7, None, None)


def test_just_admitted(target):
    """提示 6 个，命中 2 个，最多生成 3 个
    A prompt of 6, a hit of 2, at most 3 to generate"""
    req = request(target, 6, 2, 3)
    assert req.extend_len == 4, "位置 2 到 5 要算。\nPositions 2 to 5 are to be computed."
    assert (req.remain_len, req.can_decode) == (3, True), (
        "三个都还没有写。\nNone of the three is written yet."
    )


def test_a_whole_life(target):
    """题目里的例子：一次预填充，两次解码
    The example: a prefill and two decodes"""
    req = request(target, 6, 2, 3)
    seen = []
    for _ in range(3):
        req.complete_one()
        seen.append((req.cached_len, req.device_len, req.extend_len, req.remain_len))
    assert seen == [(6, 7, 1, 2), (7, 8, 1, 1), (8, 9, 1, 0)], (
        "每走一步，算过的都有了 KV，又多知道一个 token。\n"
        "With each step what was computed has its KV, and one token more is known."
    )
    assert req.can_decode is False, "写满了。\nAll of them are written."


def test_the_cpu_lags_behind(target):
    """两步之后，CPU 才收到第一个新 token
    The CPU gets the first new token after two steps"""
    req = request(target, 4, 0, 5)
    req.complete_one()
    req.complete_one()
    req.append_host(torch.tensor([9], dtype=torch.int32))
    assert req.input_ids.tolist() == [50, 51, 52, 53, 9], "接在末尾。\nIt goes to the end."
    assert req.input_ids.dtype == torch.int32, "仍是 int32。\nIt stays int32."
    assert (req.extend_len, req.remain_len) == (1, 3), (
        "进度看 `device_len`，不看 CPU 上有几个。\n"
        "`device_len` tells how far it is, not how many are on the CPU."
    )
