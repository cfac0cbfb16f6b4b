from contextlib import nullcontext
from types import SimpleNamespace

import torch

from minisgl.core import Batch, Req, SamplingParams
from minisgl.engine import ForwardOutput

EOS = 99


class Scheduler:
    """One request of a prompt of 5 tokens, alone in each batch; notes what is sent."""

    def __init__(self, max_tokens):
        self.eos_token_id, self.finished_reqs, self.sent, self.freed = EOS, set(), [], 0
        params = SamplingParams(max_tokens=max_tokens)
        ids = torch.arange(5, dtype=torch.int32)
        self.req = Req(ids, 0, 0, max_tokens, 7, params, None)
        self.cache_manager = SimpleNamespace(
            lazy_free_region=nullcontext, cache_req=lambda req, finished: None
        )
        self.decode_manager = SimpleNamespace(remove_req=lambda req: None)

    def _batch_done(self):
        pass

    def _free_req_resources(self, req):
        self.freed += 1

    def send_result(self, reply):
        self.sent += [(msg.next_token, msg.finished) for msg in reply]


def run(target, tokens, max_tokens):
    """Launch and handle as the overlap loop does; the model says `tokens`, one after the other."""
    scheduler = Scheduler(max_tokens)
    steps = []
    for number, token in enumerate(tokens):
        batch = Batch([scheduler.req], "decode" if number else "prefill")
        scheduler.req.complete_one()
        now = torch.tensor([token], dtype=torch.int32)
        steps.append((SimpleNamespace(batch=batch), ForwardOutput(now, now, None)))
        if number > 0:
            target(scheduler, steps[number - 1])
    target(scheduler, steps[-1])
    return scheduler


def test_three_tokens(target):
    """题目里的例子：要 3 个 token
    The example: 3 tokens are asked for"""
    scheduler = run(target, [10, 11, 12], 3)
    assert scheduler.sent == [(10, False), (11, False), (12, True)], (
        "处理第 2 步时还差一个 token，没有结束。\nWhen step 2 is handled, one token is missing: no end yet."
    )
    assert scheduler.freed == 1, "结束时释放一次。\nFreed once, at the end."


def test_nothing_after_eos(target):
    """第 2 个 token 是 EOS，第 3 步已经启动
    The 2nd token is EOS, and step 3 has been launched"""
    scheduler = run(target, [10, EOS, 12], 8)
    assert scheduler.sent == [(10, False), (EOS, True)], (
        "结束之后不再发消息。\nNothing is sent after the end."
    )


def test_no_token_after_eos(target):
    """EOS 之后的 token 不接到 input_ids 上
    A token after EOS is not appended to input_ids"""
    scheduler = run(target, [10, EOS, 12], 8)
    assert scheduler.req.input_ids.tolist() == [0, 1, 2, 3, 4, 10, EOS], (
        "第 3 步的 token 不属于任何人。\nThe token of step 3 belongs to nobody."
    )


def test_one_token(target):
    """只要 1 个 token
    Only 1 token is asked for"""
    scheduler = run(target, [10], 1)
    assert scheduler.sent == [(10, True)], "第一个就是最后一个。\nThe first is the last."
