from types import SimpleNamespace

import torch

from minisgl.core import ChunkedReq, Req, SamplingParams
from minisgl.scheduler.prefill import PrefillAdder
from minisgl.scheduler.table import TableManager
from minisgl.scheduler.utils import PendingReq


def start(budget, page_size=1):
    """An adder with this token budget; 3 rows of 80 positions, nothing reserved."""
    table = torch.zeros((4, 80), dtype=torch.int32)
    return PrefillAdder(budget, 0, SimpleNamespace(page_size=page_size), TableManager(3, table))


def request(length, output_len):
    """A waiting request with the tokens 100, 101, ..."""
    ids = torch.arange(100, 100 + length, dtype=torch.int32)
    return PendingReq(7, ids, SamplingParams(max_tokens=output_len))


def test_the_prompt_is_cut(target):
    """预算不够：切一块
    The budget is too small: a chunk"""
    adder = start(16, page_size=4)
    req = target(adder, request(61, 8), "handle", 2, 0)
    assert type(req) is ChunkedReq, (
        "提示没有算完，返回 ChunkedReq。\nThe prompt is not done: return a ChunkedReq."
    )
    assert (req.cached_len, req.device_len) == (0, 16), (
        "这一步算 [0, 16)，input_ids 只到 16。\nThis step computes [0, 16): input_ids end at 16."
    )
    assert adder.token_budget == 0, "只扣这一块的 16。\nOnly the chunk of 16 is charged."
    assert adder.reserved_size == 72, "为剩余全部预留：61 + 8 + 3。\nAll of the rest is reserved: 61 + 8 + 3."


def test_the_last_chunk(target):
    """最后一块：剩下的正好放得下
    The last chunk: the rest fits"""
    adder = start(16, page_size=4)
    req = target(adder, request(61, 8), "handle", 2, 48)
    assert type(req) is Req, "算到末尾，接着就采样，返回 Req。\nIt reaches the end and is sampled: a Req."
    assert adder.token_budget == 3, "还差 13，预算剩 3。\n13 are missing, so 3 are left of the budget."
    assert adder.reserved_size == 24, "只加那时还差的：13 + 8 + 3。\nOnly what is missing then: 13 + 8 + 3."


def test_the_token_pool(target):
    """写进 token_pool 的只有这一块
    The token pool gets this chunk and no more"""
    adder = start(4)
    target(adder, request(20, 5), "handle", 1, 6)
    assert adder.table_manager.token_pool[1, 5:11].tolist() == [0, 106, 107, 108, 109, 0], (
        "第 1 行的 [6, 10) 写上这四个 token，别处不动。\n"
        "Positions [6, 10) of row 1 get these four tokens; nothing else is written."
    )


def test_what_the_request_carries(target):
    """请求带着的东西
    What the request carries"""
    pending = request(9, 5)
    req = target(start(100), pending, "handle", 1, 4)
    assert (req.uid, req.table_idx, req.cached_len, req.output_len) == (7, 1, 4, 5), (
        "uid 和 output_len 来自等待的请求，table_idx 和 cached_len 来自参数。\n"
        "uid and output_len come from the waiting request, table_idx and cached_len from the arguments."
    )
    assert req.sampling_params is pending.sampling_params and req.cache_handle == "handle", (
        "采样参数和句柄原样带上。\nSampling parameters and handle are taken along as they are."
    )
