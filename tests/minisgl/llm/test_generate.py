"""The contract of `LLM.generate`: results, ends, streaming, and what happens after errors."""

import pytest

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.message import AbortBackendMsg, UserMsg
from minisgl.models.tiny import prompt, tiny_config
from minisgl.utils import trace

GREEDY = SamplingParams(max_tokens=6, ignore_eos=True)


@pytest.fixture
def llm(tiny) -> LLM:
    return LLM(tiny(), num_page_override=64, max_seq_len_override=48)


def all_pages_are_back(llm: LLM) -> bool:
    llm.cache_manager.check_integrity()
    idle = not llm.prefill_manager.runnable and not llm.decode_manager.runnable
    rows = llm.table_manager.available_size == llm.config.max_running_req
    return idle and rows and llm.cache_manager.prefix_cache.size_info.protected_size == 0


def with_eos(tiny, *token_ids: int) -> LLM:
    _, state_dict = tiny()
    return LLM((tiny_config(eos_token_ids=token_ids), state_dict), num_page_override=64)


def test_results_come_in_the_order_of_the_prompts(llm: LLM, reference) -> None:
    lengths = [6, 1, 3, 6]
    prompts = [prompt(i, 4 + i) for i in range(4)]
    params = [SamplingParams(max_tokens=n, ignore_eos=True) for n in lengths]
    results = llm.generate(prompts, params)
    expected = [reference("qwen3", ids, n) for ids, n in zip(prompts, lengths, strict=True)]
    assert [r["token_ids"] for r in results] == expected


def test_uids_are_never_used_twice(llm: LLM) -> None:
    uids = [r["uid"] for _ in range(2) for r in llm.generate([prompt(0, 4), prompt(1, 4)], GREEDY)]
    assert uids == [0, 1, 2, 3]


def test_no_prompts_give_no_results(llm: LLM) -> None:
    assert llm.generate([], GREEDY) == []


def test_eos_ends_a_text_and_is_not_part_of_it(tiny, reference) -> None:
    tokens = reference("qwen3", prompt(0, 5), 6)
    llm = with_eos(tiny, 400, tokens[3])
    first = tokens.index(tokens[3])
    result = llm.generate([prompt(0, 5)], SamplingParams(max_tokens=6))[0]
    assert result["token_ids"] == tokens[:first] and result["finish_reason"] == "stop"
    assert all_pages_are_back(llm)


def test_eos_as_the_first_token(tiny, reference) -> None:
    llm = with_eos(tiny, reference("qwen3", prompt(0, 5), 1)[0])
    result = llm.generate([prompt(0, 5)])[0]
    assert (result["token_ids"], result["finish_reason"]) == ([], "stop")


def test_eos_as_the_last_token_allowed(tiny, reference) -> None:
    tokens = reference("qwen3", prompt(0, 5), 4)
    assert tokens[3] not in tokens[:3]
    result = with_eos(tiny, tokens[3]).generate([prompt(0, 5)], SamplingParams(max_tokens=4))[0]
    assert (result["token_ids"], result["finish_reason"]) == (tokens[:3], "stop")


def test_eos_can_be_ignored(tiny, reference) -> None:
    tokens = reference("qwen3", prompt(0, 5), 6)
    result = with_eos(tiny, tokens[1]).generate([prompt(0, 5)], GREEDY)[0]
    assert (result["token_ids"], result["finish_reason"]) == (tokens, "length")


def test_tokens_are_streamed_as_they_come(tiny, reference) -> None:
    eos = reference("qwen3", prompt(1, 5), 3)[2]
    llm = with_eos(tiny, eos)
    streamed: list[tuple[int, int]] = []
    results = llm.generate(
        [prompt(0, 5), prompt(1, 5)],
        SamplingParams(max_tokens=6),
        on_token=lambda i, t: streamed.append((i, t)),
    )
    for index, result in enumerate(results):
        assert [token for i, token in streamed if i == index] == result["token_ids"]
    assert streamed[:2] == [(0, results[0]["token_ids"][0]), (1, results[1]["token_ids"][0])]


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ([[]], "prompt 0: the prompt is empty"),
        ([[1], prompt(0, 48)], "prompt 1: the prompt has 48 tokens.* 48 that a sequence may have"),
        ([prompt(0, 64)], "the prompt has 64 tokens.* 64 pages of 1 tokens"),
        ([[1, 512]], "prompt 0 holds 512 at position 1, a token id outside of the vocabulary, 0 to 511"),
        ([[-1]], "0 to 511"),
        (["a text"], "no tokenizer"),
    ],
)
def test_prompts_that_cannot_run_are_refused(prompts, message: str, llm: LLM, reference) -> None:
    with pytest.raises(ValueError, match=message):
        llm.generate(prompts, GREEDY)
    assert all_pages_are_back(llm) and len(llm.cache_manager.free_slots) == 64
    assert llm.generate([prompt(0, 5)], GREEDY)[0]["token_ids"] == reference("qwen3", prompt(0, 5), 6)


def test_a_prompt_over_the_budget_of_a_step_is_computed_in_parts(tiny, reference) -> None:
    llm = LLM(tiny(), num_page_override=64, max_extend_tokens=10)
    for length in (10, 11, 35):
        tokens = llm.generate([prompt(0, length)], GREEDY)[0]["token_ids"]
        assert tokens == reference("qwen3", prompt(0, length), 6)


@pytest.mark.parametrize(
    ("prompts", "params", "message"),
    [
        ("text", GREEDY, "list of texts"),
        (7, GREEDY, "not int"),
        ([7], GREEDY, "prompt 0 must be a text or a list of token ids, not int"),
        ([[1, True]], GREEDY, "prompt 0"),
        ([[1.0]], GREEDY, "prompt 0"),
        ([[1]], {"max_tokens": 3}, "SamplingParams"),
        ([[1]], [None], "not NoneType"),
    ],
)
def test_wrong_types_are_refused(prompts, params, message: str, llm: LLM) -> None:
    with pytest.raises(TypeError, match=message):
        llm.generate(prompts, params)


def test_as_many_params_as_prompts(llm: LLM) -> None:
    with pytest.raises(ValueError, match="2 prompts, but 1 sampling_params"):
        llm.generate([[1], [2]], [GREEDY])


def test_after_an_error_of_the_callback_all_is_as_new(llm: LLM, reference) -> None:
    def failing(index: int, token: int) -> None:
        if index == 1:
            raise KeyError("no")

    with pytest.raises(KeyError):
        llm.generate([prompt(0, 5), prompt(1, 5)], GREEDY, on_token=failing)
    assert all_pages_are_back(llm) and len(llm.cache_manager.free_slots) == 64
    assert llm.generate([prompt(1, 5)], GREEDY)[0]["token_ids"] == reference("qwen3", prompt(1, 5), 6)


def test_after_an_error_of_a_forward_all_is_as_new(llm: LLM, reference, monkeypatch) -> None:
    forward, calls = llm.engine.forward_batch, 0

    def failing(batch, args):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RuntimeError("device lost")
        return forward(batch, args)

    monkeypatch.setattr(llm.engine, "forward_batch", failing)
    with pytest.raises(RuntimeError, match="device lost"):
        llm.generate([prompt(0, 5), prompt(1, 5)], GREEDY)
    assert all_pages_are_back(llm) and len(llm.cache_manager.free_slots) == 64
    assert llm.generate([prompt(1, 5)], GREEDY)[0]["token_ids"] == reference("qwen3", prompt(1, 5), 6)


def test_a_leak_is_reported_when_idle(llm: LLM, monkeypatch) -> None:
    monkeypatch.setattr(llm.cache_manager, "_free", lambda locations: None)
    with pytest.raises(RuntimeError, match="integrity"):
        llm.generate([prompt(0, 8), prompt(0, 8)], GREEDY)


def test_an_admission_that_admits_nobody_is_reported(llm: LLM, monkeypatch) -> None:
    from minisgl.scheduler import PrefillAdder

    monkeypatch.setattr(PrefillAdder, "_try_allocate_one", lambda self, req: None)
    with pytest.raises(RuntimeError, match="nothing was scheduled although 1 requests wait"):
        llm.generate([prompt(0, 8)], GREEDY)


@pytest.mark.parametrize("steps", range(7))
def test_a_request_can_be_aborted_at_any_step(steps: int, llm: LLM, reference) -> None:
    import torch

    for uid in (0, 1):
        llm.inbox.append(UserMsg(uid, torch.tensor(prompt(uid, 5), dtype=torch.int32), GREEDY))
    with trace.recording(trace.Recorder()) as recorder:
        for _ in range(steps):
            llm.normal_loop()
        llm.inbox.extend([AbortBackendMsg(0), AbortBackendMsg(0), AbortBackendMsg(99)])
        while llm.inbox or llm.prefill_manager.runnable or llm.decode_manager.runnable:
            llm.normal_loop()
    assert all_pages_are_back(llm)
    assert [event["req"] for event in recorder.of_type("abort")] == ([0] if steps < 6 else [])
    tokens = [msg.next_token for msg in llm.outbox if msg.uid == 1]
    assert tokens == reference("qwen3", prompt(1, 5), 6)
    assert len([msg for msg in llm.outbox if msg.uid == 0]) == steps - (steps > 6)


def test_a_message_of_an_unknown_type_is_refused(llm: LLM) -> None:
    llm.inbox.append("hello")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="str"):
        llm.normal_loop()


def test_sampled_tokens_repeat_with_a_seed(llm: LLM) -> None:
    params = SamplingParams(temperature=1.0, seed=7, max_tokens=8, ignore_eos=True)
    alone = llm.generate([prompt(0, 5)], params)[0]["token_ids"]
    beside = llm.generate([prompt(1, 9), prompt(0, 5), prompt(2, 3)], params)[1]["token_ids"]
    assert alone == beside
