"""Chapter 11: a step is launched before the last one is handled. The page shows some of these tests."""

from __future__ import annotations

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, UserMsg
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import trace

MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))


def greedy(max_tokens: int) -> SamplingParams:
    return SamplingParams(max_tokens=max_tokens, ignore_eos=True)


def make_llm(overlap: bool, **settings: object) -> LLM:
    return LLM(MODEL, **{"num_page_override": 64, "overlap": overlap, **settings})  # type: ignore[arg-type]


def ask(llm: LLM, uid: int, ids: list[int], params: SamplingParams) -> None:
    llm.inbox.append(UserMsg(uid, torch.tensor(ids, dtype=torch.int32), params))


def sent(llm: LLM, uid: int) -> list[int]:
    return [msg.next_token for msg in llm.outbox if msg.uid == uid]


def work(llm: LLM, last_data: object = None) -> None:
    """Until nothing is left; then every page and row must be back."""
    while llm.is_busy:
        last_data = llm.step(last_data)  # type: ignore[arg-type]
    llm.run_when_idle()


@pytest.mark.parametrize("max_tokens", [1, 2, 3, 4])
def test_as_many_tokens_as_asked_for(max_tokens: int) -> None:
    normal = make_llm(overlap=False).generate([prompt(0, 5)], greedy(max_tokens))
    overlapped = make_llm(overlap=True).generate([prompt(0, 5)], greedy(max_tokens))
    assert overlapped[0]["token_ids"] == normal[0]["token_ids"]
    assert len(overlapped[0]["token_ids"]) == max_tokens


def test_a_step_is_launched_before_the_last_one_is_handled() -> None:
    llm = make_llm(overlap=True)
    ask(llm, 0, prompt(0, 5), greedy(3))
    first = llm.step(None)
    assert first is not None and llm.in_flight and not sent(llm, 0)
    second = llm.step(first)
    assert second is not None and len(sent(llm, 0)) == 1
    req = second[0].batch.reqs[0]
    assert (req.device_len, len(req.input_ids)) == (7, 6)  # one is ahead of the other
    work(llm, second)
    assert len(sent(llm, 0)) == 3


def test_nothing_is_sent_after_the_end() -> None:
    """Step 3 has been launched with the request in it when its 2nd token turns out to be the last."""
    tokens = make_llm(overlap=False).generate([prompt(0, 5)], greedy(8))[0]["token_ids"]
    llm = make_llm(overlap=True)
    llm.eos_token_id, llm.eos_token_ids = tokens[1], frozenset({tokens[1]})
    ask(llm, 0, prompt(0, 5), SamplingParams(max_tokens=8))
    with trace.recording(trace.Recorder()) as recorder:
        work(llm)
    assert len(recorder.of_type("batch")) == 3
    assert sent(llm, 0) == tokens[:2]


def test_a_row_waits_for_the_batch_in_flight() -> None:
    llm = make_llm(overlap=True)
    ask(llm, 0, prompt(0, 5), greedy(8))
    ask(llm, 1, prompt(1, 5), greedy(8))
    last_data = llm.step(llm.step(None))
    llm.inbox.append(AbortBackendMsg(0))
    rows = llm.table_manager.available_size
    for msg in llm.receive_msg(blocking=False):
        llm._process_one_msg(msg)
    assert llm.deferred_slots and llm.table_manager.available_size == rows
    last_data = llm.step(last_data)
    assert not llm.deferred_slots and llm.table_manager.available_size == rows + 1
    work(llm, last_data)


@pytest.mark.parametrize("after", range(8))
@pytest.mark.parametrize("budget", [4, 1000])
def test_an_abort_at_any_step_leaves_every_page_in_one_place(after: int, budget: int) -> None:
    llm = make_llm(overlap=True, max_extend_tokens=budget)
    ask(llm, 0, prompt(0, 9), greedy(4))
    ask(llm, 1, prompt(1, 9), greedy(4))
    last_data = None
    for _ in range(after):
        last_data = llm.step(last_data)
    llm.inbox += [AbortBackendMsg(0), AbortBackendMsg(0)]
    work(llm, last_data)
    assert len(sent(llm, 1)) == 4


@pytest.mark.parametrize(("overlap", "tokens"), [(False, 656), (True, 1056)])
def test_a_shared_prefix_is_found_a_step_later(overlap: bool, tokens: int) -> None:
    llm = make_llm(overlap, num_page_override=1024, max_extend_tokens=416)
    prompts = [prompt(0, 400) + prompt(i + 1, 16) for i in range(16)]
    with trace.recording(trace.Recorder()) as recorder:
        llm.generate(prompts, greedy(1))
    assert sum(sum(batch["tokens"]) for batch in recorder.of_type("batch")) == tokens


@pytest.mark.parametrize("mixed", [False, True])
def test_overlap_changes_no_token(mixed: bool) -> None:
    prompts = [prompt(i, 5 + 7 * i) for i in range(6)]
    alone = make_llm(overlap=False, cache_type="naive")
    expected = [alone.generate([ids], greedy(5))[0]["token_ids"] for ids in prompts]
    llm = make_llm(overlap=True, num_page_override=128, max_running_req=2, max_extend_tokens=6, mixed=mixed)
    assert [result["token_ids"] for result in llm.generate(prompts, greedy(5))] == expected
