"""A request that cannot run is answered, and all others go on."""

from __future__ import annotations

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.engine import NO_TOKEN
from minisgl.llm import LLM
from minisgl.message import UserMsg
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import trace

MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))
GREEDY = SamplingParams(max_tokens=5, ignore_eos=True)


def drain(llm: LLM) -> None:
    last_data = None
    while llm.is_busy:
        last_data = llm.step(last_data)
    llm.run_when_idle()


@pytest.mark.parametrize(
    ("ids", "error"),
    [
        ([], "the prompt is empty"),
        (prompt(0, 32), "the prompt has 32 tokens; with one token of output that is more than the KV pool"),
        (prompt(0, 20), "more than the 20 that a sequence may have"),
        ([3, 512, 4], "a token id outside of the vocabulary, 0 to 511"),
        ([3, -1, 4], "a token id outside of the vocabulary, 0 to 511"),
        ([[1, 2], [3, 4]], r"one row of int32, not torch.int32 of shape \[2, 2\]"),
        ([0.5, 1.5], "one row of int32, not torch.float32"),
    ],
)
@pytest.mark.parametrize("overlap", [False, True])
def test_a_request_that_cannot_run_gets_an_error(ids: list, error: str, overlap: bool) -> None:
    llm = LLM(MODEL, num_page_override=32, max_seq_len_override=20, overlap=overlap)
    tensor = torch.tensor(ids) if ids == [0.5, 1.5] else torch.tensor(ids, dtype=torch.int32)
    good = torch.tensor(prompt(1, 5), dtype=torch.int32)
    llm.inbox += [UserMsg(0, good, GREEDY), UserMsg(1, tensor, GREEDY), UserMsg(2, good, GREEDY)]
    with trace.recording(trace.Recorder()) as recorder:
        drain(llm)
    assert {event["req"] for event in recorder.of_type("sampled")} == {0, 2}
    (answer,) = [msg for msg in llm.outbox if msg.uid == 1]
    assert (answer.next_token, answer.finished, answer.finish_reason) == (-1, True, "error")
    with pytest.raises(ValueError, match=error):
        raise ValueError(answer.error)
    assert all(len([msg for msg in llm.outbox if msg.uid == uid]) == 5 for uid in (0, 2))


@pytest.mark.parametrize("at", [0, 2])
@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("cache_type", ["radix", "naive"])
def test_logits_that_are_no_numbers_end_their_request_alone(at: int, overlap: bool, cache_type: str) -> None:
    llm = LLM(MODEL, num_page_override=64, overlap=overlap, cache_type=cache_type)
    sample, batches = llm.engine.sampler.sample, []

    def failing(logits: torch.Tensor, *args) -> torch.Tensor:
        tokens = sample(logits, *args)
        batches.append(len(tokens))
        if len(batches) == at + 1:
            tokens[1] = NO_TOKEN
        return tokens

    llm.engine.sampler.sample = failing  # type: ignore[method-assign]
    for uid in range(3):
        llm.inbox.append(UserMsg(uid, torch.tensor(prompt(uid, 9), dtype=torch.int32), GREEDY))
    drain(llm)
    answers = [msg for msg in llm.outbox if msg.uid == 1]
    assert [msg.finished for msg in answers] == [False] * at + [True]
    assert (answers[-1].next_token, answers[-1].finish_reason) == (-1, "error")
    assert (
        answers[-1].error is not None and "request 1: the model's logits are not finite" in answers[-1].error
    )
    alone = LLM(MODEL, num_page_override=64)
    for uid in (0, 2):
        expected = alone.generate([prompt(uid, 9)], GREEDY)[0]["token_ids"]
        assert [msg.next_token for msg in llm.outbox if msg.uid == uid] == expected
    if at == 0 and cache_type == "radix":  # what it has computed is found by nobody
        found = llm.cache_manager.prefix_cache.match_prefix(torch.tensor(prompt(1, 9), dtype=torch.int32))
        assert found.cuda_handle.cached_len == 0


def test_offline_it_is_raised() -> None:
    llm = LLM(MODEL, num_page_override=64)
    llm.engine.sampler.sample = lambda logits, *args: torch.full(  # type: ignore
        (len(logits),), NO_TOKEN, dtype=torch.int32
    )
    with pytest.raises(RuntimeError, match="request 0: the model's logits are not finite"):
        llm.generate([prompt(0, 5)], GREEDY)
    llm.run_when_idle()
