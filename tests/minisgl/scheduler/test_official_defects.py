"""Defects of the official engine, one test each, named by how it ought to be."""

from __future__ import annotations

import itertools

import pytest
import torch
from late_llm import LateLLM

from minisgl.core import Req, SamplingParams
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, UserMsg
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import CacheManager, DecodeManager, PrefillManager, TableManager

MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))


def greedy(max_tokens: int) -> SamplingParams:
    return SamplingParams(max_tokens=max_tokens, ignore_eos=True)


def message(uid: int, ids: list[int], params: SamplingParams) -> UserMsg:
    return UserMsg(uid, torch.tensor(ids, dtype=torch.int32), params)


def alone(ids: list[int], max_tokens: int) -> list[int]:
    return LLM(MODEL, num_page_override=64, cache_type="naive").generate([ids], greedy(max_tokens))[0][
        "token_ids"
    ]


def drain(llm: LLM, last_data=None) -> None:
    while llm.is_busy:
        last_data = llm.step(last_data)
    llm.run_when_idle()


def sent(llm: LLM, uid: int) -> list[tuple[int, bool]]:
    return [(msg.next_token, msg.finished) for msg in llm.outbox if msg.uid == uid]


@pytest.mark.parametrize("overlap", [False, True])
def test_1_a_request_whose_prefix_was_cached_meanwhile_reads_the_cached_copy(overlap: bool) -> None:
    """Its own copy is freed, and soon holds the KV of another request."""
    llm = LateLLM(MODEL, num_page_override=48, overlap=overlap)
    same, other = prompt(0, 8), prompt(1, 20)
    llm.inbox += [message(0, same, greedy(12)), message(1, same, greedy(12)), message(2, other, greedy(2))]
    drain(llm)
    for uid in (0, 1):
        assert [token for token, _ in sent(llm, uid)] == alone(same, 12)


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 4])
def test_2_max_tokens_tokens_are_generated_under_overlap_too(max_tokens: int) -> None:
    llm = LateLLM(MODEL, num_page_override=64, overlap=True)
    llm.inbox.append(message(0, prompt(0, 5), greedy(max_tokens)))
    drain(llm)
    tokens = alone(prompt(0, 5), max_tokens)
    assert sent(llm, 0) == [*((token, False) for token in tokens[:-1]), (tokens[-1], True)]
    assert len(tokens) == max_tokens


@pytest.mark.parametrize("after", [1, 2, 3])
def test_3_nothing_is_sent_after_the_token_that_ends_a_text(after: int) -> None:
    """Under overlap one more step has been launched by the time that anybody sees this token."""
    tokens = alone(prompt(0, 5), 8)
    ends = SamplingParams(max_tokens=8, ignore_eos=True, stop_token_ids=(tokens[after],))
    until = tokens[: tokens.index(tokens[after]) + 1]
    llm = LateLLM(MODEL, num_page_override=64, overlap=True)
    llm.inbox += [message(0, prompt(0, 5), ends), message(1, prompt(1, 5), greedy(8))]
    drain(llm)
    assert sent(llm, 0) == [*((token, False) for token in until[:-1]), (until[-1], True)]
    assert len(sent(llm, 1)) == 8


def test_4_a_row_is_not_used_again_while_a_batch_in_flight_writes_to_it() -> None:
    tokens = alone(prompt(0, 5), 8)
    ends = SamplingParams(max_tokens=8, ignore_eos=True, stop_token_ids=(tokens[2],))
    llm = LateLLM(MODEL, num_page_override=64, max_running_req=2, overlap=True)
    llm.inbox.append(message(0, prompt(0, 5), ends))
    llm.inbox += [message(uid, prompt(uid, 12), greedy(4)) for uid in range(1, 6)]
    last_data = None
    while llm.is_busy:
        last_data = llm.step(last_data)
        written = {req.table_idx for batch in llm._launched for req in batch.reqs}
        assert not written & set(llm.table_manager._free_slots)
    for uid in range(1, 6):
        assert [token for token, _ in sent(llm, uid)] == alone(prompt(uid, 12), 4)
    llm.run_when_idle()


@pytest.mark.parametrize(("steps", "budget"), list(itertools.product(range(8), [4, 1000])))
def test_5_an_abort_at_any_step_frees_each_page_once(steps: int, budget: int) -> None:
    """While its prefill or a part of it is in flight, too."""
    llm = LateLLM(MODEL, num_page_override=64, overlap=True, max_extend_tokens=budget)
    llm.inbox += [message(0, prompt(0, 9), greedy(4)), message(1, prompt(1, 9), greedy(4))]
    last_data = None
    for _ in range(steps):
        last_data = llm.step(last_data)
    llm.inbox += [AbortBackendMsg(0), AbortBackendMsg(0)]
    drain(llm, last_data)
    assert [token for token, _ in sent(llm, 1)] == alone(prompt(1, 9), 4)


@pytest.mark.parametrize("page_size", [1, 4])
def test_9_a_prompt_that_is_cached_whole_computes_one_token(page_size: int) -> None:
    llm = LLM(MODEL, num_page_override=64 // page_size, page_size=page_size)
    for _ in range(3):
        assert llm.generate([prompt(0, 16)], greedy(4))[0]["token_ids"] == alone(prompt(0, 16), 4)
    assert llm.generate([prompt(0, 1)] * 2, greedy(4))[1]["token_ids"] == alone(prompt(0, 1), 4)


def test_10_running_requests_are_in_ascending_uid() -> None:
    """A set of objects has another order in each process, and ranks would add up different requests."""
    for order in itertools.permutations([3, 11, 7, 200]):
        manager = DecodeManager(page_size=1)
        for row, uid in enumerate(order):
            ids = torch.tensor([1, 2], dtype=torch.int32)
            handle = None
            manager.filter_reqs([Req(ids, row, 0, 4, uid, SamplingParams(), handle)])  # type: ignore[arg-type]
        batch = manager.schedule_next_batch()
        assert batch is not None and [req.uid for req in batch.reqs] == [3, 7, 11, 200]


def test_11_a_batch_reserves_the_last_page_of_each_of_its_requests() -> None:
    """With 3 pages of 4 tokens, two requests of 2 + 4 tokens need 4 pages."""
    page_table = torch.zeros((9, 64), dtype=torch.int32)
    cache = CacheManager(3, 4, page_table, "naive")
    manager = PrefillManager(cache, TableManager(8, page_table), DecodeManager(4))
    for uid in (0, 1):
        manager.add_one_req(message(uid, [5, 6], greedy(4)))
    batch = manager.schedule_next_batch(1000)
    assert batch is not None and [req.uid for req in batch.reqs] == [0]
    llm = LLM(MODEL, num_page_override=3, page_size=4)
    results = llm.generate([prompt(0, 2), prompt(1, 2)], greedy(4))
    assert [result["token_ids"] for result in results] == [alone(prompt(i, 2), 4) for i in (0, 1)]
