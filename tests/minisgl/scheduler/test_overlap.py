"""A step is launched before the one before it is handled."""

from __future__ import annotations

import random

import pytest
import torch
from late_llm import LateLLM

from minisgl.core import SamplingParams
from minisgl.engine import ForwardOutput
from minisgl.env import ENV
from minisgl.llm import LLM
from minisgl.message import UserMsg
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import ForwardInput
from minisgl.utils import trace

MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))


def greedy(max_tokens: int) -> SamplingParams:
    return SamplingParams(max_tokens=max_tokens, ignore_eos=True)


class WatchedLLM(LLM):
    """Notes when a step is launched and when it is handled."""

    notes: list[str]

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        self.launched = getattr(self, "launched", 0) + 1
        self.notes.append(f"launch {self.launched}")
        self.numbers = {**getattr(self, "numbers", {}), id(forward_input): self.launched}
        return super()._forward(forward_input)

    def _process_last_data(self, last_data) -> None:
        if last_data is not None:
            self.notes.append(f"handle {self.numbers[id(last_data[0])]}")
        super()._process_last_data(last_data)


@pytest.mark.parametrize(
    ("overlap", "order"),
    [
        (True, "launch 1, launch 2, handle 1, launch 3, handle 2, handle 3"),
        (False, "launch 1, handle 1, launch 2, handle 2, launch 3, handle 3"),
        (None, "launch 1, handle 1, launch 2, handle 2, launch 3, handle 3"),  # a CPU has nothing to overlap
    ],
)
def test_the_order_of_launching_and_handling(overlap: bool | None, order: str) -> None:
    llm = WatchedLLM(MODEL, num_page_override=64, overlap=overlap)
    llm.notes = []
    llm.generate([prompt(0, 5)], greedy(3))
    assert ", ".join(llm.notes) == order
    assert llm.cache_manager.available_size == 64


def test_the_environment_turns_overlap_off(monkeypatch) -> None:
    llm = LLM(MODEL, num_page_override=64, overlap=True)
    assert llm.overlap
    monkeypatch.setattr(ENV.DISABLE_OVERLAP_SCHEDULING, "value", True)
    assert not llm.overlap


def test_overlap_may_be_turned_off_while_a_batch_is_in_flight(monkeypatch) -> None:
    llm = LLM(MODEL, num_page_override=64, overlap=True)
    llm.inbox.append(UserMsg(0, torch.tensor(prompt(0, 5), dtype=torch.int32), greedy(6)))
    last_data = llm.step(llm.step(None))
    assert last_data is not None and llm.in_flight
    monkeypatch.setattr(ENV.DISABLE_OVERLAP_SCHEDULING, "value", True)
    while llm.is_busy:
        last_data = llm.step(last_data)
    assert len(llm.outbox) == 6
    llm.run_when_idle()


def prefilled(overlap: bool) -> int:
    llm = LLM(MODEL, num_page_override=1024, max_extend_tokens=416, overlap=overlap)
    shared = prompt(0, 400)
    with trace.recording(trace.Recorder()) as recorder:
        llm.generate([shared + prompt(i + 1, 16) for i in range(16)], greedy(1))
    return sum(sum(event["tokens"]) for event in recorder.of_type("batch") if event["phase"] == "prefill")


def test_what_a_prompt_leaves_in_the_cache_is_found_a_step_later() -> None:
    """16 prompts share 400 of 416 tokens; the second is launched before the first is inserted."""
    assert prefilled(overlap=False) == 416 + 15 * 16 == 656
    assert prefilled(overlap=True) == 2 * 416 + 14 * 16 == 1056


@pytest.mark.parametrize("moment", [None, 1, 2])
@pytest.mark.parametrize("page_size", [1, 4])
def test_two_rows_and_six_prompts(moment: int | None, page_size: int) -> None:
    """Each row is used three times, whenever the device may come to its work."""
    prompts = [prompt(i, 5 + i) for i in range(6)]
    alone = LLM(MODEL, num_page_override=64)
    expected = [alone.generate([ids], greedy(5))[0]["token_ids"] for ids in prompts]
    llm = LateLLM(
        MODEL,
        moment=None if moment is None else random.Random(moment),
        num_page_override=64 // page_size,
        page_size=page_size,
        max_running_req=2,
        overlap=True,
    )
    assert [result["token_ids"] for result in llm.generate(prompts, greedy(5))] == expected


def test_an_error_in_the_middle_leaves_nothing_behind() -> None:
    llm = LLM(MODEL, num_page_override=64, overlap=True)

    def stop(index: int, token: int) -> None:
        if len(llm.decode_manager.running_reqs) == 2 and llm.in_flight:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        llm.generate([prompt(0, 5), prompt(1, 5)], greedy(8), on_token=stop)
    assert not llm.is_busy and not llm.in_flight and not llm.deferred_slots and not llm.finished_reqs
    llm.run_when_idle()
    again, fresh = llm.generate([prompt(0, 5)], greedy(8)), LLM(MODEL, num_page_override=64)
    assert again[0]["token_ids"] == fresh.generate([prompt(0, 5)], greedy(8))[0]["token_ids"]
