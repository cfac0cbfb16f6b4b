"""Greedy tokens equal those of transformers, whatever is switched on and however tight the pool is."""

import pytest

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt
from minisgl.utils import trace

SHARED = prompt(0, 24) + prompt(4, 3)
PROMPTS = [prompt(0, 5), prompt(1, 5), prompt(2, 4), prompt(3, 15), SHARED, SHARED]
GREEDY = SamplingParams(max_tokens=8, ignore_eos=True)


@pytest.mark.parametrize("cache_type", ["naive", "radix"])
@pytest.mark.parametrize("page_size", [1, 4, 16])
@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama", "qwen3_moe"])
def test_many_requests_at_once(arch: str, page_size: int, cache_type: str, tiny, reference) -> None:
    llm = LLM(tiny(arch), page_size=page_size, num_page_override=1024 // page_size, cache_type=cache_type)
    results = llm.generate(PROMPTS, GREEDY)
    assert [r["token_ids"] for r in results] == [reference(arch, ids, 8) for ids in PROMPTS]
    assert all(r["finish_reason"] == "length" and r["text"] == "" for r in results)


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama", "mistral", "qwen3_moe"])
def test_one_request_after_the_other(arch: str, tiny, reference) -> None:
    llm = LLM(tiny(arch), page_size=4, num_page_override=64)
    for ids in PROMPTS:
        assert llm.generate([ids], GREEDY)[0]["token_ids"] == reference(arch, ids, 8)


@pytest.mark.parametrize("cache_type", ["naive", "radix"])
@pytest.mark.parametrize(("page_size", "num_pages"), [(1, 40), (4, 11), (16, 3)])
def test_a_tight_pool_makes_requests_wait_and_evicts(
    page_size: int, num_pages: int, cache_type: str, tiny, reference
) -> None:
    llm = LLM(tiny(), page_size=page_size, num_page_override=num_pages, cache_type=cache_type)
    prompts = [prompt(i, 6 + i) for i in range(10)] + PROMPTS
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(prompts, GREEDY)
    assert [r["token_ids"] for r in results] == [reference("qwen3", ids, 8) for ids in prompts]
    assert any(event["why"] == "memory" for event in recorder.of_type("refused"))
    assert bool(recorder.of_type("evict")) == (cache_type == "radix")


def test_few_slots_make_requests_wait(tiny, reference) -> None:
    llm = LLM(tiny(), num_page_override=512, max_running_req=2)
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(PROMPTS, GREEDY)
    assert [r["token_ids"] for r in results] == [reference("qwen3", ids, 8) for ids in PROMPTS]
    assert {event["why"] for event in recorder.of_type("refused")} == {"table slots"}


def test_a_small_token_budget_cuts_prompts(tiny, reference) -> None:
    llm = LLM(tiny(), num_page_override=512, max_extend_tokens=27)
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(PROMPTS, GREEDY)
    assert [r["token_ids"] for r in results] == [reference("qwen3", ids, 8) for ids in PROMPTS]
    prefills = [event["tokens"] for event in recorder.of_type("batch") if event["phase"] == "prefill"]
    assert prefills == [[5, 5, 4, 13], [2, 22, 3], [19]]  # P(0, 24) begins like P(0, 5)


def test_the_same_prompt_twice_in_one_batch_shares_its_pages(tiny, reference, monkeypatch) -> None:
    """Official issue 142: uid 1's row must name uid 0's pages, and its own copy is free."""
    llm = LLM(tiny(), num_page_override=32)
    seen = []

    original = llm._process_last_data

    def watching(last_data) -> None:
        original(last_data)
        manager = llm.cache_manager
        seen.append((len(manager.free_slots), manager.prefix_cache.size_info.total_size))
        if len(seen) == 1:
            rows = [llm.engine.page_table[req.table_idx, :8].tolist() for req in last_data[0].batch.reqs]
            assert rows == [list(range(8)), list(range(8))]

    monkeypatch.setattr(llm, "_process_last_data", watching)
    ids = prompt(0, 8)
    results = llm.generate([ids, ids], SamplingParams(max_tokens=4, ignore_eos=True))
    assert [r["token_ids"] for r in results] == [reference("qwen3", ids, 4)] * 2
    assert (seen[0][0], seen[-1]) == (24, (21, 11))


@pytest.mark.parametrize(("page_size", "computed"), [(1, [16, 1]), (4, [16, 4])])
def test_a_cached_prompt_still_computes_its_last_token(page_size: int, computed: list[int], tiny) -> None:
    llm = LLM(tiny(), page_size=page_size, num_page_override=64)
    with trace.recording(trace.Recorder()) as recorder:
        first, second = (llm.generate([prompt(0, 16)], GREEDY)[0] for _ in range(2))
    prefills = [event["tokens"] for event in recorder.of_type("batch") if event["phase"] == "prefill"]
    assert prefills == [[n] for n in computed]
    assert first["token_ids"] == second["token_ids"]


def test_a_shared_prefix_is_computed_once(tiny) -> None:
    llm = LLM(tiny(), num_page_override=256)
    with trace.recording(trace.Recorder()) as recorder:
        for i in range(1, 5):
            llm.generate([prompt(0, 40) + prompt(i, 4)], GREEDY)
    prefills = [event["tokens"] for event in recorder.of_type("batch") if event["phase"] == "prefill"]
    assert prefills == [[44], [4], [4], [4]]


@pytest.mark.parametrize("max_tokens", [1, 2, 3])
def test_few_tokens(max_tokens: int, tiny, reference) -> None:
    llm = LLM(tiny(), num_page_override=64)
    result = llm.generate([prompt(0, 5)], SamplingParams(max_tokens=max_tokens, ignore_eos=True))[0]
    assert result["token_ids"] == reference("qwen3", prompt(0, 5), max_tokens)


def test_a_sequence_may_fill_its_row_and_the_pool(tiny, reference) -> None:
    llm = LLM(tiny(), num_page_override=4, page_size=4, max_seq_len_override=16)
    result = llm.generate([prompt(0, 6)], SamplingParams(max_tokens=50, ignore_eos=True))[0]
    assert result["token_ids"] == reference("qwen3", prompt(0, 6), 10)
    assert result["finish_reason"] == "length"
    longest = llm.generate([prompt(0, 15)], SamplingParams(max_tokens=50, ignore_eos=True))[0]
    assert longest["token_ids"] == reference("qwen3", prompt(0, 15), 1)


def test_two_engines_live_in_one_process(tiny, reference) -> None:
    first = LLM(tiny("qwen3"), num_page_override=64)
    second = LLM(tiny("llama"), page_size=4, num_page_override=32)
    for ids in PROMPTS[:3]:
        assert first.generate([ids], GREEDY)[0]["token_ids"] == reference("qwen3", ids, 8)
        assert second.generate([ids], GREEDY)[0]["token_ids"] == reference("llama", ids, 8)
    first.shutdown()
    assert second.generate([PROMPTS[0]], GREEDY)[0]["token_ids"] == reference("llama", PROMPTS[0], 8)
