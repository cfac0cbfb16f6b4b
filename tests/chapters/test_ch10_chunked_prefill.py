"""Chapter 10: prompts in chunks, steps that mix them with decodes, and requests that are sent back. The page
shows some of these tests.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from minisgl.core import ChunkedReq, Req, SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import CacheManager, PendingReq, PrefillAdder, TableManager
from minisgl.scheduler.decode import retract_to_fit
from minisgl.scheduler.prefill import lpm_order
from minisgl.scheduler.scheduler import plan_mixed
from minisgl.utils import trace

CONFIG = tiny_config()
MODEL = CONFIG, tiny_state_dict(CONFIG, seed=0)
THREE = [prompt(0, 50), prompt(1, 9), prompt(2, 6)]


def run(prompts: list[list[int]], max_tokens: int, **settings: Any) -> tuple[list[list[int]], trace.Recorder]:
    """What is generated with these settings, and what the engine decided."""
    llm = LLM(MODEL, **settings)
    params = SamplingParams(max_tokens=max_tokens, ignore_eos=True)
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(prompts, params)
    llm.shutdown()
    return [result["token_ids"] for result in results], recorder


def steps(recorder: trace.Recorder) -> list[list[int]]:
    """The tokens of each request in each step."""
    return [batch["tokens"] for batch in recorder.of_type("batch")]


def make_adder(budget: int, page_size: int) -> PrefillAdder:
    table = torch.zeros(3, 96, dtype=torch.int32)
    manager = CacheManager(num_pages=96 // page_size, page_size=page_size, page_table=table, type="naive")
    return PrefillAdder(budget, 0, manager, TableManager(2, table))


def test_a_chunk_is_charged_now_and_the_rest_is_reserved() -> None:
    pending = PendingReq(7, torch.arange(100, 161, dtype=torch.int32), SamplingParams(max_tokens=8))
    lengths = []
    for cached_len in (0, 16, 32, 48):  # each chunk in a step of its own
        adder = make_adder(budget=16, page_size=4)
        req = adder._add_one_req(pending, None, 1, cached_len)  # type: ignore[arg-type]
        assert adder.reserved_size == (61 - cached_len) + 8 + 3  # to its end, whatever is computed now
        assert adder.token_budget == 16 - req.extend_len
        assert isinstance(req, ChunkedReq) == (req.device_len < 61)
        ids = adder.table_manager.token_pool[1, cached_len : req.device_len]
        assert ids.tolist() == list(range(100 + cached_len, 100 + req.device_len))
        lengths.append(req.extend_len)
    assert lengths == [16, 16, 16, 13]


def test_the_schedule_of_the_page() -> None:
    _, recorder = run(THREE, 4, num_page_override=128, max_extend_tokens=16)
    assert steps(recorder) == [[16], [16], [16], [2, 9, 5], [1], *3 * [[1, 1, 1]]]


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("page_size", [1, 4])
def test_no_budget_changes_a_token(mixed: bool, page_size: int) -> None:
    pages = 128 // page_size
    whole, _ = run(THREE, 4, num_page_override=pages, page_size=page_size)
    for budget in (16, 7, 1):
        settings = {"max_extend_tokens": budget, "mixed": mixed, "page_size": page_size}
        assert run(THREE, 4, num_page_override=pages, **settings)[0] == whole


def test_nothing_is_sampled_from_half_a_prompt() -> None:
    req = ChunkedReq(torch.arange(4, dtype=torch.int32), 0, 0, 8, 7, SamplingParams(), None)  # type: ignore[arg-type]
    assert not req.can_decode
    with pytest.raises(RuntimeError, match="computed in part"):
        req.append_host(torch.tensor([1], dtype=torch.int32))


def test_how_a_step_is_shared() -> None:
    assert plan_mixed([3, 1], [(7, 20), (8, 5)], 16) == [(1, 1), (3, 1), (7, 14)]
    assert plan_mixed([2, 0, 1], [(9, 4)], 2) == [(0, 1), (1, 1), (2, 1)]  # nobody pauses
    assert plan_mixed([], [(0, 5), (1, 9)], 16) == [(0, 5), (1, 9)]


def test_nobody_waits_in_mixed_batches() -> None:
    nine = [[i + 1] for i in range(8)] + [prompt(0, 61)]
    waits = {}
    for mixed in (False, True):
        _, recorder = run(nine, 12, num_page_override=512, max_extend_tokens=16, mixed=mixed)
        prefills = [batch for batch in recorder.of_type("batch") if batch["phase"] == "prefill"]
        waits[mixed] = sum(0 not in batch["uids"] for batch in prefills)
        chunks = [batch["tokens"][-1] for batch in prefills]
        assert chunks == ([8] * 7 + [5] if mixed else [8, 16, 16, 16, 5])
    assert waits == {False: 4, True: 0}


def running(uid: int, cached: int, device: int, pages: int, **more: Any) -> dict[str, Any]:
    """A running request as `retract_to_fit` is told of it."""
    ids = {"prompt": [uid] * 4, "output": [9] * (device - 4), "max_tokens": 3}
    lengths = {"cached_len": cached, "device_len": device}
    return {"uid": uid, **lengths, "pages": pages, "shared_pages": 0, **ids, **more}


def test_the_latest_goes_and_takes_its_output_along() -> None:
    two = [running(0, 8, 9, 2), running(1, 4, 5, 1)]
    (gone,) = retract_to_fit(two, free_pages=1, page_size=4, watermark=0)
    assert gone == {"uid": 1, "input_ids": [1, 1, 1, 1, 9], "max_tokens": 2}
    assert retract_to_fit(two, free_pages=2, page_size=4, watermark=0) == []
    assert len(retract_to_fit(two, free_pages=2, page_size=4, watermark=1)) == 1


def test_pages_that_others_hold_do_not_come_free() -> None:
    three = [running(0, 8, 9, 2), running(1, 8, 9, 2), running(2, 8, 9, 2, shared_pages=2)]
    assert [one["uid"] for one in retract_to_fit(three, 1, 4, 0)] == [2, 1]


def test_one_alone_may_use_the_watermark_but_no_more() -> None:
    alone = [running(0, 8, 9, 2)]
    assert retract_to_fit(alone, free_pages=1, page_size=4, watermark=3) == []
    with pytest.raises(RuntimeError, match="needs 1 pages, and 0 can be had"):
        retract_to_fit(alone, free_pages=0, page_size=4, watermark=0)


@pytest.mark.parametrize("cache_type", ["naive", "radix"])
@pytest.mark.parametrize("mixed", [False, True])
def test_who_is_sent_back_says_the_same(cache_type: str, mixed: bool) -> None:
    prompts = [prompt(i, 6) for i in range(3)]
    roomy, _ = run(prompts, 10, num_page_override=64)
    settings = {"admission": "optimistic", "cache_type": cache_type, "mixed": mixed}
    tight, recorder = run(prompts, 10, num_page_override=24, **settings)
    assert tight == roomy
    assert {event["req"] for event in recorder.of_type("retract")} == {1, 2}  # the first always gets on


@pytest.mark.parametrize(("cache_type", "again"), [("naive", 130), ("radix", 2)])
def test_what_is_computed_again_depends_on_the_cache(cache_type: str, again: int) -> None:
    table = torch.zeros(2, 160, dtype=torch.int32)
    manager = CacheManager(num_pages=16, page_size=16, page_table=table, type=cache_type)
    ids = torch.arange(130, dtype=torch.int32)  # 100 of the prompt, 30 generated
    pending = PendingReq(0, ids, SamplingParams(max_tokens=20))
    handle = manager.match_req(pending).cuda_handle
    manager.lock(handle)
    req = Req(ids[:129], 0, 0, 20, 0, pending.sampling_params, handle)
    manager.allocate_paged([req])
    req.complete_one()
    req.append_host(ids[129:])
    manager.cache_req(req, finished=True)
    assert 130 - manager.match_req(pending).cuda_handle.cached_len == again


def test_optimism_lets_more_in() -> None:
    prompts = [prompt(i, 5) for i in range(10)]
    sizes = {}
    for admission in ("worst_case", "optimistic"):
        _, recorder = run(prompts, 8, num_page_override=64, cache_type="naive", admission=admission)
        sizes[admission] = (len(steps(recorder)[0]), len(steps(recorder)), len(recorder.of_type("retract")))
    assert sizes == {"worst_case": (4, 18, 0), "optimistic": (10, 14, 5)}


def test_longest_prefix_first_within_a_bound() -> None:
    matched, waited = {10: 0, 11: 40, 12: 8}, {10: 6, 11: 0, 12: 1}
    assert lpm_order([10, 11, 12], matched, waited, bound=5) == [10, 11, 12]
    assert lpm_order([10, 11, 12], matched, waited, bound=7) == [11, 12, 10]


@pytest.mark.parametrize("bound", [5, 16])
def test_a_miss_among_hits_has_its_turn_within_the_bound(bound: int) -> None:
    llm = LLM(MODEL, num_page_override=256, max_running_req=1, policy="lpm", lpm_bound=bound)
    hit, one = prompt(0, 20), SamplingParams(max_tokens=1, ignore_eos=True)
    llm.generate([hit], one)
    order: list[int] = []
    queue = [[*hit, 7], prompt(3, 9), *([*hit, i] for i in range(8, 48))]
    llm.generate(queue, one, on_token=lambda index, token: order.append(index))
    llm.shutdown()
    assert order.index(1) < bound
