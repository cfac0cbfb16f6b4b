"""`LLM(tp_size=2)`: started ranks follow rank 0 by its messages alone. One LLM serves all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from random import Random

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.env import ENV
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, DetokenizeMsg, UserMsg
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import trace

CONFIG = tiny_config()
MODEL = (CONFIG, tiny_state_dict(CONFIG, 0))
SETTINGS = {"num_page_override": 48, "max_running_req": 3, "page_size": 2, "overlap": True}
PROMPTS = [prompt(0, 5), prompt(1, 5), prompt(2, 4), prompt(3, 15)] + 2 * [prompt(0, 24) + prompt(4, 3)]
GREEDY = SamplingParams(max_tokens=8, ignore_eos=True)


@pytest.fixture(scope="module")
def shared() -> Iterator[LLM]:
    llm = LLM(MODEL, tp_size=2, **SETTINGS)
    yield llm
    llm.shutdown()


@pytest.fixture
def llm(shared: LLM) -> Iterator[LLM]:
    """The LLM of two ranks. Afterwards no request is left, and the ranks agree still."""
    yield shared
    assert tokens(shared) == tokens(alone())
    assert not shared.prefill_manager.runnable and not shared.decode_manager.runnable
    assert shared.table_manager.available_size == SETTINGS["max_running_req"]
    shared.cache_manager.check_integrity()


def alone() -> LLM:
    return LLM(MODEL, **SETTINGS)


def tokens(llm: LLM, prompts=PROMPTS, params=GREEDY) -> list[list[int]]:
    return [result["token_ids"] for result in llm.generate(prompts, params)]


def test_example_of_the_course(llm: LLM) -> None:
    with trace.recording(trace.Recorder()) as recorder:
        together = tokens(llm)
    forwards = len(recorder.of_type("forward_start"))
    rows = [
        len(each.engine.model.model.layers.op_list[0].self_attn.qkv_proj.weight) for each in (llm, alone())
    ]
    assert rows == [64, 128]
    assert len(recorder.of_type("all_reduce")) == 5 * forwards
    assert len(recorder.of_type("all_gather")) == forwards
    assert together == tokens(alone())


def test_sampled_tokens_with_and_without_seed(llm: LLM) -> None:
    params = [
        SamplingParams(temperature=1.0, max_tokens=8, ignore_eos=True),
        SamplingParams(temperature=0.9, top_k=50, seed=5, max_tokens=3, ignore_eos=True),
        SamplingParams(temperature=1.5, top_p=0.9, max_tokens=8, ignore_eos=True),
    ]
    single = alone()
    llm._next_uid = single._next_uid = 1000  # tokens without a seed depend on the uid
    assert tokens(llm, PROMPTS[:3], params) == tokens(single, PROMPTS[:3], params)


def test_more_requests_than_rows_and_none_at_all(llm: LLM) -> None:
    prompts = [prompt(i, 3 + i % 7) for i in range(40)]
    params = [SamplingParams(max_tokens=1 + i % 5, ignore_eos=True) for i in range(40)]
    assert tokens(llm, prompts, params) == tokens(alone(), prompts, params)
    assert llm.generate([]) == []


def test_switching_overlap_off_is_for_one_rank_only(llm: LLM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ENV.DISABLE_OVERLAP_SCHEDULING, "value", True)
    assert llm.overlap and not alone().overlap
    assert tokens(llm) == tokens(alone())


def traffic(llm: LLM, seed: int) -> list[DetokenizeMsg]:
    """Requests that come and are aborted in any step; everything that is sent, in order."""
    random = Random(seed)
    sent: list[DetokenizeMsg] = []
    uids = list(range(llm._next_uid, llm._next_uid + 20))
    waiting, last_data = list(uids), None
    guard = nullcontext if llm._ranks is None else llm._ranks.guard
    while waiting or llm.is_busy:
        for _ in range(random.choice([0, 0, 1, 3])):
            if waiting:
                uid = waiting.pop(0)
                ids = torch.tensor(prompt(uid % 4, random.randint(1, 30)), dtype=torch.int32)
                temperature = random.choice([0.0, 1.0])
                params = SamplingParams(temperature, max_tokens=random.randint(1, 12), ignore_eos=True)
                llm.inbox.append(UserMsg(uid, ids, params))
        if random.random() < 0.3:
            llm.inbox.append(AbortBackendMsg(random.choice(uids)))
        if llm.is_busy:
            with guard():
                last_data = llm.step(last_data)
        sent += llm.outbox
        llm.outbox.clear()
    return sent


@pytest.mark.parametrize("seed", range(5))
def test_random_traffic_with_aborts(llm: LLM, seed: int) -> None:
    single = alone()
    single._next_uid = llm._next_uid
    together = traffic(llm, seed)
    llm._next_uid += 20
    assert together == traffic(single, seed) != []


def test_tokens_are_streamed(llm: LLM) -> None:
    streamed: dict[int, list[int]] = {}
    results = llm.generate(PROMPTS, GREEDY, on_token=lambda i, t: streamed.setdefault(i, []).append(t))
    assert [streamed[i] for i in range(len(PROMPTS))] == [result["token_ids"] for result in results]


@pytest.mark.parametrize("kind", [KeyError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [1, 4, 11])
def test_an_error_of_the_callback_leaves_the_ranks_in_step(
    llm: LLM, kind: type[BaseException], at: int
) -> None:
    left = at

    def callback(index: int, token: int) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise kind("enough")

    with pytest.raises(kind):
        llm.generate(PROMPTS, GREEDY, on_token=callback)


def test_a_bad_prompt_is_refused_before_anything_is_sent(llm: LLM) -> None:
    with pytest.raises(ValueError, match="prompt 1"):
        llm.generate([prompt(0, 5), []], GREEDY)


@pytest.mark.parametrize("size", [0, 3, True, 2.0, 8])
def test_sizes_that_do_not_work(size: object) -> None:
    with pytest.raises(ValueError, match=r"tp_size may be 1, 2, 4$|tp_size must be an integer"):
        LLM(MODEL, tp_size=size)
