"""Chapter 7: who computes in the next step. The page shows some of these tests."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, UserMsg
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import trace

CONFIG = tiny_config()
WEIGHTS = tiny_state_dict(CONFIG, seed=0)
Step = tuple[str, list[int], list[int]]  # phase, uids, tokens each


def make_llm(rows: int = 8) -> LLM:
    """An engine of `rows` rows of up to 128 tokens, each with room of its own."""
    model = (CONFIG, WEIGHTS)
    return LLM(model, max_running_req=rows, max_seq_len_override=128, num_page_override=rows * 128)


def params(max_tokens: int) -> SamplingParams:
    return SamplingParams(max_tokens=max_tokens, ignore_eos=True)


def steps_of(llm: LLM, lengths: Sequence[int], outputs: Sequence[int]) -> list[Step]:
    """What each step computed, for prompts of these lengths that generate so many tokens."""
    prompts = [prompt(i, length) for i, length in enumerate(lengths)]
    with trace.recording(trace.Recorder()) as recorder:
        llm.generate(prompts, [params(n) for n in outputs])
    return [(e["phase"], e["uids"], e["tokens"]) for e in recorder.of_type("batch")]


def post(llm: LLM, uid: int, length: int, max_tokens: int) -> None:
    """Put a request into the scheduler's inbox, as a server would."""
    llm.inbox.append(UserMsg(uid, torch.tensor(prompt(uid, length), dtype=torch.int32), params(max_tokens)))


def running(llm: LLM) -> list[int]:
    return sorted(req.uid for req in llm.decode_manager.running_reqs)


def test_a_request_that_ends_leaves_the_next_step_to_the_others() -> None:
    steps = steps_of(make_llm(), [5, 5, 4, 15, 5], [8, 2, 8, 1, 8])
    assert steps[0] == ("prefill", [0, 1, 2, 3, 4], [5, 5, 4, 15, 5])
    assert steps[1] == ("decode", [0, 1, 2, 4], [1, 1, 1, 1])  # 3 wanted one token, which prefill sampled
    assert steps[2:] == [("decode", [0, 2, 4], [1, 1, 1])] * 6  # 1 has its two
    assert len(steps) == 8


def test_a_free_row_is_taken_in_the_very_next_step() -> None:
    steps = steps_of(make_llm(rows=2), [4, 4, 4, 4], [8, 2, 2, 2])
    assert [uids for _, uids, _ in steps] == [[0, 1], [0, 1], [2], [0, 2], [3], [0, 3], *[[0]] * 4]
    assert [phase for phase, _, _ in steps].count("prefill") == 3


def test_company_does_not_change_what_a_request_says() -> None:
    llm = make_llm()
    prompts = [prompt(i, length) for i, length in enumerate([5, 5, 4, 15, 5])]
    together = llm.generate(prompts, params(6))
    alone = [llm.generate([ids], params(6))[0] for ids in prompts]
    assert [each["token_ids"] for each in together] == [each["token_ids"] for each in alone]


def test_who_comes_while_others_run_is_prefilled_next() -> None:
    llm = make_llm()
    post(llm, 0, 4, 8)
    with trace.recording(trace.Recorder()) as recorder:
        llm.normal_loop()
        llm.normal_loop()
        post(llm, 1, 6, 8)
        llm.normal_loop()
        llm.normal_loop()
    steps = [(e["phase"], e["uids"]) for e in recorder.of_type("batch")]
    assert steps == [("prefill", [0]), ("decode", [0]), ("prefill", [1]), ("decode", [0, 1])]


def test_an_aborted_request_is_gone_whether_it_waits_or_runs() -> None:
    llm = make_llm(rows=2)
    for uid in range(3):
        post(llm, uid, 4, 8)
    llm.normal_loop()
    assert (running(llm), len(llm.prefill_manager.pending_list)) == ([0, 1], 1)
    llm.inbox.extend([AbortBackendMsg(1), AbortBackendMsg(2), AbortBackendMsg(7)])  # nobody is 7
    llm.normal_loop()
    assert (running(llm), len(llm.prefill_manager.pending_list)) == ([0], 0)
    assert llm.table_manager.available_size == 1


def test_each_row_comes_back() -> None:
    llm = make_llm(rows=2)
    steps_of(llm, [4, 5, 6], [3, 1, 2])
    assert llm.table_manager.available_size == 2
    llm.run_when_idle()  # checks that nothing has been left behind


def test_a_decode_batch_is_in_the_order_of_uids() -> None:
    llm = make_llm()
    for uid in (5, 2, 9, 0):
        post(llm, uid, 3, 4)
    llm.normal_loop()
    batch = llm.decode_manager.schedule_next_batch()
    assert batch is not None
    assert [req.uid for req in batch.reqs] == [0, 2, 5, 9]


def test_the_output_is_cut_to_what_a_row_holds() -> None:
    answer = make_llm().generate([prompt(0, 120)], params(50))[0]
    assert len(answer["token_ids"]) == 8  # 120 + 8 = 128


@pytest.mark.parametrize(("length", "said"), [(0, "empty"), (128, "128 tokens")])
def test_a_prompt_that_could_never_run_is_refused_before_anything_is_computed(length: int, said: str) -> None:
    llm = make_llm()
    with trace.recording(trace.Recorder()) as recorder, pytest.raises(ValueError, match=said):
        llm.generate([prompt(0, 4), prompt(1, length)], params(2))
    assert recorder.of_type("batch") == []
