"""Requests, batches and the context."""

from __future__ import annotations

import math
import threading
from fractions import Fraction

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


def request(prompt: int, cached: int, max_tokens: int, row: int = 0) -> Req:
    return Req(
        input_ids=torch.arange(prompt, dtype=torch.int32),
        table_idx=row,
        cached_len=cached,
        output_len=max_tokens,
        uid=row,
        sampling_params=SamplingParams(max_tokens=max_tokens),
        cache_handle=None,
    )


def test_lengths_from_prompt_to_end() -> None:
    req = request(prompt=6, cached=2, max_tokens=3)
    seen = [(req.cached_len, req.device_len)]
    extends = [req.extend_len]
    while req.can_decode:
        req.complete_one()
        seen.append((req.cached_len, req.device_len))
        extends.append(req.extend_len)
    assert seen == [(2, 6), (6, 7), (7, 8), (8, 9)]
    assert extends[:3] == [4, 1, 1]
    assert req.remain_len == 0


def test_lengths_of_a_longer_request() -> None:
    req = request(prompt=100, cached=64, max_tokens=50)
    assert req.remain_len == 50
    req.complete_one()
    assert (req.cached_len, req.device_len, req.remain_len) == (100, 101, 49)
    for _ in range(10):
        req.complete_one()
    assert (req.cached_len, req.device_len, req.remain_len) == (110, 111, 39)


def test_append_host_keeps_int32() -> None:
    req = request(prompt=2, cached=0, max_tokens=2)
    req.append_host(torch.tensor([7], dtype=torch.int32))
    assert req.input_ids.tolist() == [0, 1, 7]
    assert req.input_ids.dtype == torch.int32
    assert req.device_len == 2, "the device's length moves with the forward, not with the CPU's copy"


def test_equal_requests_are_two() -> None:
    assert len({request(3, 0, 1), request(3, 0, 1)}) == 2


@pytest.mark.parametrize("cached", [-1, 3, 4])
def test_at_least_one_token_must_be_computed(cached: int) -> None:
    with pytest.raises(ValueError, match="cached_len"):
        request(prompt=3, cached=cached, max_tokens=1)


def test_flat_positions() -> None:
    decoding = request(prompt=5, cached=4, max_tokens=2, row=0)
    rows, positions = flat_positions([request(prompt=3, cached=0, max_tokens=1, row=2), decoding])
    assert rows.tolist() == [2, 2, 2, 0] and rows.dtype == torch.int64
    assert positions.tolist() == [0, 1, 2, 4] and positions.dtype == torch.int32


def test_flat_positions_of_nothing() -> None:
    rows, positions = flat_positions([])
    assert (rows.shape, rows.dtype) == ((0,), torch.int64)
    assert (positions.shape, positions.dtype) == ((0,), torch.int32)


def test_batch_phase_and_padding() -> None:
    reqs = [request(3, 0, 1), request(3, 0, 1)]
    batch = Batch(reqs, "prefill")
    assert batch.is_prefill and not batch.is_decode
    assert (batch.size, batch.padded_size) == (2, 2)
    batch.padded_reqs = [*reqs, request(1, 0, 1)]
    assert (batch.size, batch.padded_size) == (2, 3)
    assert Batch(reqs, "decode").is_decode


def test_a_new_batch_can_be_printed() -> None:
    assert "Batch" in repr(Batch([], "decode"))


def test_forward_batch_is_not_nested_and_ends_on_errors() -> None:
    ctx, batch = Context(page_size=1), Batch([], "decode")
    with pytest.raises(RuntimeError, match="no forward"):
        _ = ctx.batch
    with ctx.forward_batch(batch):
        assert ctx.batch is batch
        with pytest.raises(RuntimeError, match="nested"), ctx.forward_batch(batch):
            pass
        assert ctx.batch is batch, "the refused one must not end the running one"
    with pytest.raises(ZeroDivisionError), ctx.forward_batch(batch):
        _ = 1 // 0
    with ctx.forward_batch(batch):
        pass


def test_global_context_is_set_once() -> None:
    ctx = Context(page_size=1)
    with pytest.raises(RuntimeError, match="not set"):
        get_global_ctx()
    set_global_ctx(ctx)
    try:
        assert get_global_ctx() is ctx
        with pytest.raises(RuntimeError, match="already"):
            set_global_ctx(Context(page_size=1))
    finally:
        reset_global_ctx()
    with pytest.raises(RuntimeError, match="not set"):
        get_global_ctx()


def test_global_context_belongs_to_a_thread() -> None:
    seen: list[Context] = []

    def other() -> None:
        set_global_ctx(Context(page_size=2))
        seen.append(get_global_ctx())

    set_global_ctx(Context(page_size=1))
    try:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert (seen[0].page_size, get_global_ctx().page_size) == (2, 1)
    finally:
        reset_global_ctx()


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("temperature", [-0.1, float("nan"), float("inf")]),
        ("top_k", [0, -2, 1.5, True]),
        ("top_p", [0.0, -1.0, 1.1, float("nan")]),
        ("min_p", [-0.1, 1.0, float("nan")]),
        ("max_tokens", [0, -1, 2.5, True]),
        ("seed", ["x", 1.5, True]),
    ],
)
def test_sampling_params_are_checked(field: str, values: list[object]) -> None:
    for value in values:
        with pytest.raises(ValueError, match=field):
            SamplingParams(**{field: value})


@pytest.mark.parametrize(
    ("params", "greedy"),
    [
        (SamplingParams(), True),
        (SamplingParams(temperature=0.7), False),
        (SamplingParams(temperature=0.7, top_k=1), True),
        (SamplingParams(temperature=0.7, top_k=2), False),
        (SamplingParams(temperature=0.0, top_p=0.5), True),
    ],
)
def test_is_greedy(params: SamplingParams, greedy: bool) -> None:
    assert params.is_greedy == greedy


def test_lists_of_stops_become_tuples() -> None:
    params = SamplingParams(stop=["\n", "</s>"], stop_token_ids=[3, 4])  # type: ignore[arg-type]
    assert params.stop == ("\n", "</s>") and params.stop_token_ids == (3, 4)
    assert params == SamplingParams(stop=("\n", "</s>"), stop_token_ids=(3, 4))
    assert SamplingParams(stop="end").stop == ("end",)  # type: ignore[arg-type]
    assert hash(params)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("temperature", math.nan, "a finite number of at least 0, not nan"),
        ("max_tokens", 0, "an integer of at least 1, not 0"),
        ("temperature", 10**309, "a finite number of at least 0, not 1000"),
        ("repetition_penalty", Fraction(10**400, 3), "a finite number above 0, not Fraction"),
        ("n", 0, "from 1 to 128, not 0"),
        ("n", 129, "from 1 to 128, not 129"),
        ("n", True, "from 1 to 128, not True"),
        ("presence_penalty", 2.1, "from -2 to 2, not 2.1"),
        ("frequency_penalty", math.nan, "from -2 to 2, not nan"),
        ("frequency_penalty", "1", "from -2 to 2, not '1'"),
        ("repetition_penalty", 0, "a finite number above 0, not 0"),
        ("repetition_penalty", math.inf, "a finite number above 0, not inf"),
        ("logprobs", 21, "from 0 to 20, not 21"),
        ("logprobs", True, "from 0 to 20, not True"),
        ("stop", [""], "texts of 1 to 256 characters, one is ''"),
        ("stop", ["x" * 10_000_000], "texts of 1 to 256 characters, one is 'xxx"),
        ("stop", [7], "texts of 1 to 256 characters, one is 7"),
        ("stop", 7, "a list of at most 16 texts, not 7"),
        ("stop", [chr(i + 97) for i in range(17)], "a list of at most 16 texts, not "),
        ("stop", ["\ud83d"], "valid Unicode, but '.ud83d' holds half of a character"),
        ("stop_token_ids", [-1], "token ids, integers of at least 0, not -1"),
        ("stop_token_ids", [True], "token ids, integers of at least 0, not True"),
        ("stop_token_ids", 5, "a list of token ids, not 5"),
        ("stop_token_ids", "5", "a list of token ids, not '5'"),
    ],
)
def test_a_sampling_parameter_out_of_range_is_named(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{field} must be .*{message}") as info:
        SamplingParams(**{field: value})  # type: ignore[arg-type]
    assert len(str(info.value)) < 200


def test_an_unknown_sampling_parameter_is_named() -> None:
    with pytest.raises(TypeError, match="temprature"):
        SamplingParams(temprature=1.0)  # type: ignore[call-arg]
