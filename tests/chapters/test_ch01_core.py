"""Chapter 1: where a request stands, how a batch is laid out, and what the context guards.

The page shows some of these tests.
"""

from __future__ import annotations

import threading
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest
import torch

from minisgl.core import (
    Batch,
    Context,
    Req,
    SamplingParams,
    flat_positions,
    get_global_ctx,
    reset_global_ctx,
    set_global_ctx,
)


def request(prompt: int, hit: int = 0, max_tokens: int = 8, row: int = 0, uid: int = 0) -> Req:
    ids = torch.arange(prompt, dtype=torch.int32)
    params = SamplingParams(max_tokens=max_tokens)
    return Req(ids, row, hit, max_tokens, uid, params, cache_handle=None)  # type: ignore[arg-type]


def forwards(req: Req, n: int) -> Req:
    for _ in range(n):
        req.complete_one()
    return req


@pytest.mark.parametrize(
    ("done", "span", "extend", "remain"),
    [(0, (64, 100), 36, 50), (1, (100, 101), 1, 49), (11, (110, 111), 1, 39), (50, (149, 150), 1, 0)],
)
def test_three_integers_answer_every_question(
    done: int, span: tuple[int, int], extend: int, remain: int
) -> None:
    req = forwards(request(prompt=100, hit=64, max_tokens=50), done)
    assert (req.cached_len, req.device_len) == span
    assert (req.extend_len, req.remain_len, req.can_decode) == (extend, remain, remain > 0)


@pytest.mark.parametrize(("prompt", "hit", "m"), [(6, 2, 3), (1, 0, 1), (40, 39, 7)])
def test_m_tokens_take_m_forwards(prompt: int, hit: int, m: int) -> None:
    req, count = request(prompt, hit, m), 0
    while req.can_decode:
        req.complete_one()
        count += 1
    assert count == m
    assert req.cached_len == prompt + m - 1  # the last token is known, and its KV is never computed


@pytest.mark.parametrize("hit", [6, 7, -1])
def test_one_token_at_least_is_computed(hit: int) -> None:
    with pytest.raises(ValueError, match="one token at least"):
        request(prompt=6, hit=hit)


def test_cached_len_never_catches_up_with_device_len() -> None:
    req = request(prompt=6, hit=5)
    for _ in range(8):
        assert req.cached_len < req.device_len
        req.complete_one()
    assert req.cached_len < req.device_len


def test_progress_does_not_depend_on_the_copy_on_the_cpu() -> None:
    req = forwards(request(prompt=4, max_tokens=5), 2)
    taken = req.input_ids
    req.append_host(torch.tensor([9], dtype=torch.int32))  # the first of the two tokens arrives
    assert (len(req.input_ids), req.device_len, req.remain_len) == (5, 6, 3)
    assert req.input_ids.dtype == torch.int32
    assert taken.tolist() == [0, 1, 2, 3]


@dataclass
class ByValue:
    """What a request would be without `eq=False`."""

    uid: int
    input_ids: torch.Tensor


def test_by_value_requests_cannot_be_kept_apart() -> None:
    a, b = (ByValue(7, torch.tensor([3])) for _ in range(2))
    running = [a, b]
    running.remove(b)
    assert running[0] is b  # a was taken out: it came first, and is equal
    with pytest.raises(TypeError, match="unhashable"):
        _ = {a}
    with pytest.raises(RuntimeError, match="ambiguous"):  # more than one token: not even comparable
        _ = ByValue(7, torch.tensor([3, 14])) == ByValue(7, torch.tensor([3, 14]))


def test_two_equal_requests_are_two() -> None:
    a, b = request(6), request(6)
    assert len({a, b}) == 2
    running = [a, b]
    running.remove(b)
    assert running[0] is a


def test_five_prompts_are_one_row_of_34_tokens() -> None:
    reqs = [request(n, row=row) for row, n in enumerate([5, 5, 4, 15, 5])]
    rows, positions = flat_positions(reqs)
    assert len(rows) == len(positions) == sum(req.extend_len for req in reqs) == 34
    assert positions.tolist() == [*range(5), *range(5), *range(4), *range(15), *range(5)]
    padding = 5 * max(req.extend_len for req in reqs) - len(rows)
    assert (padding, round(padding / 75, 3)) == (41, 0.547)  # if they were filled up to a rectangle


def test_prefill_hit_and_decode_stand_in_one_row() -> None:
    decoding = forwards(request(4, row=3), 1)
    rows, positions = flat_positions([decoding, request(6, hit=4, row=0), request(3, row=2)])
    assert rows.tolist() == [3, 0, 0, 2, 2, 2]
    assert positions.tolist() == [4, 4, 5, 0, 1, 2]
    table = torch.arange(4 * 8, dtype=torch.int32).view(4, 8)
    assert table[rows, positions.long()].tolist() == [28, 4, 5, 16, 17, 18]


def test_nobody_is_a_row_of_nothing() -> None:
    rows, positions = flat_positions([])
    assert (rows.shape, rows.dtype) == ((0,), torch.int64)
    assert (positions.shape, positions.dtype) == ((0,), torch.int32)


@pytest.mark.parametrize("name", ["input_ids", "positions", "out_loc", "attn_metadata"])
def test_a_field_that_nobody_has_set_is_not_there(name: str) -> None:
    batch = Batch([request(6)], "prefill")
    with pytest.raises(AttributeError, match=name):
        getattr(batch, name)


def test_a_batch_is_padded_with_nobody_at_first() -> None:
    batch = Batch([request(6), request(4)], "decode")
    assert batch.padded_reqs == batch.reqs
    assert (batch.size, batch.padded_size, batch.is_decode) == (2, 2, True)


def test_a_second_batch_is_refused_and_the_first_goes_on() -> None:
    ctx, first, second = Context(page_size=1), Batch([], "prefill"), Batch([], "decode")
    with ctx.forward_batch(first):
        with pytest.raises(RuntimeError, match="nested"), ctx.forward_batch(second):
            pass
        assert ctx.batch is first
    with pytest.raises(RuntimeError, match="no forward is running"):
        _ = ctx.batch


def test_a_forward_that_fails_leaves_no_batch_behind() -> None:
    ctx, batch = Context(page_size=1), Batch([], "prefill")
    with pytest.raises(ZeroDivisionError), ctx.forward_batch(batch):
        _ = 1 // 0
    with ctx.forward_batch(batch):  # not refused
        assert ctx.batch is batch


def test_each_thread_has_a_context_of_its_own() -> None:
    seen = []

    def other() -> None:
        with pytest.raises(RuntimeError, match="not set"):
            get_global_ctx()
        set_global_ctx(Context(page_size=16))
        seen.append(get_global_ctx().page_size)

    set_global_ctx(Context(page_size=1))
    try:
        with pytest.raises(RuntimeError, match="already set"):
            set_global_ctx(Context(page_size=4))
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert (seen, get_global_ctx().page_size) == ([16], 1)
    finally:
        reset_global_ctx()


def test_settings_are_checked_and_do_not_change() -> None:
    params = SamplingParams(max_tokens=50)
    with pytest.raises(FrozenInstanceError):
        params.max_tokens = 10  # type: ignore[misc]
    shorter = replace(params, max_tokens=10)
    assert (params.max_tokens, shorter.max_tokens) == (50, 10)
    with pytest.raises(ValueError, match="max_tokens must be an integer of at least 1, not 0"):
        SamplingParams(max_tokens=0)
