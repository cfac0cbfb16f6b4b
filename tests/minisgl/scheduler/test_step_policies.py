"""The functions that decide on a step: whom, in which order, how many tokens."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from minisgl.core import ChunkedReq, Req, SamplingParams
from minisgl.kvcache import create_prefix_cache
from minisgl.scheduler import CacheManager, PrefillAdder, TableManager, lpm_order, plan_mixed, retract_to_fit
from minisgl.scheduler.utils import PendingReq
from minisgl.utils import cdiv

PROMPTS_TO_COMPUTE = st.lists(st.tuples(st.integers(100, 120), st.integers(1, 30)), max_size=6)


# plan_mixed


@pytest.mark.parametrize(
    ("decodes", "prompts", "budget", "plan"),
    [
        ([3, 1], [(7, 20), (8, 5)], 16, [(1, 1), (3, 1), (7, 14)]),
        ([3, 1], [(7, 20), (8, 5)], 1, [(1, 1), (3, 1)]),  # a running request does not pause
        ([3, 1], [(7, 20)], 2, [(1, 1), (3, 1)]),
        ([], [(7, 3), (8, 5)], 8, [(7, 3), (8, 5)]),
        ([], [(7, 3), (8, 5)], 7, [(7, 3), (8, 4)]),
        ([2], [], 5, [(2, 1)]),
        ([], [], 5, []),
    ],
)
def test_a_step_is_shared_between_running_requests_and_prompts(decodes, prompts, budget, plan) -> None:
    assert plan_mixed(decodes, prompts, budget) == plan


@given(decodes=st.sets(st.integers(0, 20), max_size=6), prompts=PROMPTS_TO_COMPUTE, budget=st.integers(1, 60))
def test_what_is_left_goes_to_prompts_in_order(decodes, prompts, budget) -> None:
    plan = plan_mixed(list(decodes), prompts, budget)
    assert plan[: len(decodes)] == [(uid, 1) for uid in sorted(decodes)]
    given_out = plan[len(decodes) :]
    assert sum(n for _, n in given_out) == min(max(0, budget - len(decodes)), sum(n for _, n in prompts))
    assert given_out[:-1] == prompts[: len(given_out)][:-1]
    assert all(n > 0 for _, n in given_out)


# lpm_order


def test_the_longest_match_goes_first_until_somebody_has_waited_too_long() -> None:
    arguments = [10, 11, 12], {10: 0, 11: 40, 12: 8}, {10: 6, 11: 0, 12: 1}
    assert lpm_order(*arguments, bound=5) == [10, 11, 12]
    assert lpm_order(*arguments, bound=6) == [10, 11, 12]
    assert lpm_order(*arguments, bound=7) == [11, 12, 10]


def test_equal_matches_and_late_ones_go_by_arrival() -> None:
    assert lpm_order([9, 2, 5], {9: 4, 2: 4, 5: 4}, {9: 0, 2: 0, 5: 0}, bound=3) == [9, 2, 5]
    assert lpm_order([9, 2, 5], {9: 0, 2: 4, 5: 8}, {9: 3, 2: 4, 5: 9}, bound=3) == [9, 2, 5]


# retract_to_fit


def running(uid: int, cached_len: int, device_len: int, page_size: int, **fields) -> dict:
    return {
        "uid": uid,
        "cached_len": cached_len,
        "device_len": device_len,
        "pages": cdiv(cached_len, page_size),
        "shared_pages": 0,
        "prompt": [uid] * (device_len - 1),
        "output": [77],
        "max_tokens": 3,
        **fields,
    }


def test_the_latest_admitted_goes_back_with_what_it_has_generated() -> None:
    reqs = [running(0, 8, 9, 4), running(1, 4, 5, 4)]
    assert retract_to_fit(reqs, 1, 4, 0) == [{"uid": 1, "input_ids": [1, 1, 1, 1, 77], "max_tokens": 2}]


def test_nobody_goes_while_pages_suffice() -> None:
    reqs = [running(0, 8, 9, 4), running(1, 4, 5, 4), running(2, 5, 6, 4)]
    assert retract_to_fit(reqs, 2, 4, 0) == []
    assert retract_to_fit(reqs, 3, 4, 1) == []
    assert [gone["uid"] for gone in retract_to_fit(reqs, 2, 4, 1)] == [2]  # needs none itself, gives two
    assert retract_to_fit([running(2, 5, 6, 4)], 0, 4, 2) == []


def test_a_page_that_others_hold_is_not_gained() -> None:
    reqs = [running(uid, 8, 9, 4) for uid in range(3)]
    assert [gone["uid"] for gone in retract_to_fit(reqs, 1, 4, 0)] == [2]
    reqs[2]["shared_pages"] = 2
    assert [gone["uid"] for gone in retract_to_fit(reqs, 1, 4, 0)] == [2, 1]


def test_the_last_one_ignores_the_watermark_and_must_fit() -> None:
    assert retract_to_fit([running(0, 8, 9, 4)], 1, 4, 2) == []
    with pytest.raises(RuntimeError, match="request 0 needs 1 pages, and 0 can be had"):
        retract_to_fit([running(0, 8, 9, 4)], 0, 4, 0)


# who shares pages with whom


def test_a_page_is_shared_as_long_as_an_earlier_handle_locks_it() -> None:
    cache = create_prefix_cache(device=torch.device("cpu"), type="radix")

    def locked(ids: list[int]):
        tensor = torch.tensor(ids, dtype=torch.int32)
        handle = cache.insert_prefix(
            tensor, torch.arange(100 * len(ids), 100 * len(ids) + len(ids)).int()
        ).handle
        cache.lock_handle(handle)
        return handle

    first, second, third = locked([1, 2, 3]), locked([1, 2, 3, 4, 5]), locked([1, 2, 9, 9])
    assert cache.shared_sizes([first, second, third]) == [0, 3, 2]
    assert cache.shared_sizes([third, second, first]) == [0, 2, 3]
    assert cache.shared_sizes([second]) == [3]  # the others are not in the list: their locks stay
    assert cache.shared_sizes([]) == []


# chunks


def adder(budget: int, page_size: int = 4) -> PrefillAdder:
    page_table = torch.zeros((5, 64), dtype=torch.int32)
    cache = CacheManager(64 // page_size, page_size, page_table, "naive")
    return PrefillAdder(budget, 5, cache, TableManager(4, page_table))


def pending(length: int, output: int) -> PendingReq:
    ids = torch.arange(10, 10 + length, dtype=torch.int32)
    return PendingReq(3, ids, SamplingParams(max_tokens=output))


@pytest.mark.parametrize(
    ("cached_len", "budget", "kind", "length"),
    [(0, 10, Req, 10), (0, 11, Req, 10), (0, 9, ChunkedReq, 9), (4, 6, Req, 10), (4, 5, ChunkedReq, 9)],
)
def test_a_prompt_is_cut_where_the_budget_ends(cached_len, budget, kind, length) -> None:
    batch, request = adder(budget), pending(10, 7)
    handle = object()
    req = batch._add_one_req(request, handle, 2, cached_len)  # type: ignore[arg-type]
    assert type(req) is kind
    assert req.input_ids.tolist() == list(range(10, 10 + length))
    assert (req.cached_len, req.device_len, req.output_len) == (cached_len, length, 7)
    assert (req.uid, req.table_idx, req.cache_handle) == (3, 2, handle)
    assert req.sampling_params is request.sampling_params
    assert batch.token_budget == budget - (length - cached_len)
    assert batch.reserved_size == 5 + (10 - cached_len) + 7 + 3  # all of the rest, and a last page
    row = batch.table_manager.token_pool[2]
    assert row[cached_len:length].tolist() == list(range(10 + cached_len, 10 + length))
    assert not row[:cached_len].any() and not row[length:].any()


def test_a_chunk_is_not_sampled_from() -> None:
    req = adder(4)._add_one_req(pending(10, 7), object(), 2, 0)  # type: ignore[arg-type]
    assert not req.can_decode and req.remain_len > 0
    with pytest.raises(RuntimeError, match="in part"):
        req.append_host(torch.tensor([1], dtype=torch.int32))


def test_the_chunks_of_a_prompt_follow_each_other() -> None:
    request, seen = pending(10, 2), []
    batch = adder(4)
    while not seen or isinstance(seen[-1], ChunkedReq):
        batch.token_budget = 4
        req = batch.try_add_one(request)
        assert req is not None
        request.chunked_req = req if isinstance(req, ChunkedReq) else None
        req.complete_one()  # as the forward does
        seen.append(req)
    assert [req.cached_len for req in seen] == [4, 8, 10]
    assert {req.table_idx for req in seen} == {seen[0].table_idx} and batch.table_manager.available_size == 3
