"""How steps are made up never changes what is generated."""

from itertools import product

import pytest

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt
from minisgl.utils import trace

PROMPTS = [prompt(0, 5), prompt(1, 5), prompt(2, 4), prompt(3, 15), *2 * [prompt(0, 24) + prompt(4, 3)]]
GREEDY = SamplingParams(max_tokens=8, ignore_eos=True)


@pytest.mark.parametrize(
    ("overlap", "mixed", "budget"), list(product([False, True], [False, True], [1, 7, 16, 1000]))
)
def test_greedy_tokens_are_those_of_transformers(
    overlap: bool, mixed: bool, budget: int, tiny, reference
) -> None:
    llm = LLM(
        tiny(), num_page_override=32, page_size=4, overlap=overlap, mixed=mixed, max_extend_tokens=budget
    )
    results = llm.generate(PROMPTS, GREEDY)
    assert [result["token_ids"] for result in results] == [reference("qwen3", ids, 8) for ids in PROMPTS]


@pytest.mark.parametrize(
    ("overlap", "mixed", "page_size", "cache_type"),
    list(product([False, True], [False, True], [1, 4], ["radix", "naive"])),
)
def test_retracted_requests_get_the_same_tokens(
    overlap: bool, mixed: bool, page_size: int, cache_type: str, tiny, reference
) -> None:
    llm = LLM(
        tiny(),
        num_page_override=32 // page_size,
        page_size=page_size,
        overlap=overlap,
        mixed=mixed,
        cache_type=cache_type,
        admission="optimistic",
    )
    prompts = PROMPTS[:4]
    results = llm.generate(prompts, GREEDY)
    assert [result["token_ids"] for result in results] == [reference("qwen3", ids, 8) for ids in prompts]


def batches(recorder: trace.Recorder) -> list[list[int]]:
    return [event["tokens"] for event in recorder.of_type("batch")]


def test_a_long_prompt_is_computed_in_parts(tiny, reference) -> None:
    llm = LLM(tiny(), num_page_override=128, max_extend_tokens=16)
    prompts = [prompt(0, 50), prompt(1, 9), prompt(2, 6)]
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(prompts, SamplingParams(max_tokens=4, ignore_eos=True))
    assert batches(recorder) == [[16], [16], [16], [2, 9, 5], [1], [1, 1, 1], [1, 1, 1], [1, 1, 1]]
    assert [result["token_ids"] for result in results] == [reference("qwen3", ids, 4) for ids in prompts]


@pytest.mark.parametrize("overlap", [False, True])
def test_no_running_request_waits_for_a_long_prompt_in_mixed_batches(overlap: bool, tiny) -> None:
    """61 tokens, 16 a step, 8 of them for running requests: 8 steps, in which these go on."""
    llm = LLM(tiny(), num_page_override=512, max_extend_tokens=16, mixed=True, overlap=overlap)
    uids = []

    def on_token(index: int, token: int) -> None:
        uids.append(index)

    prompts = [[i + 1] for i in range(8)] + [prompt(0, 61)]
    with trace.recording(trace.Recorder()) as recorder:
        llm.generate(prompts, SamplingParams(max_tokens=12, ignore_eos=True), on_token=on_token)
    first, *mixed = [event for event in recorder.of_type("batch") if event["phase"] == "prefill"]
    assert first["uids"] == [0, 1, 2, 3, 4, 5, 6, 7, 8] and first["tokens"] == [1] * 8 + [8]
    assert [event["tokens"] for event in mixed] == 6 * [8 * [1] + [8]] + [8 * [1] + [5]]
    assert uids.count(0) == 12 and uids.index(8) == 8 * 7 + 8


def test_a_miss_among_hits_runs_within_the_bound(tiny) -> None:
    """Longest prefix first lets hits pass, but only so often."""
    bound = 5
    llm = LLM(tiny(), num_page_override=256, max_running_req=1, policy="lpm", lpm_bound=bound)
    one = SamplingParams(max_tokens=1, ignore_eos=True)
    hit = prompt(0, 20)
    llm.generate([hit], one)
    prompts = [[*hit, 7], prompt(3, 9), *([*hit, i] for i in range(8, 48))]
    order: list[int] = []
    llm.generate(prompts, one, on_token=lambda index, token: order.append(index))
    assert order.index(1) == bound - 1  # the first step of waiting counts
    assert [index for index in order if index != 1] == [0, *range(2, 42)]


@pytest.mark.parametrize("overlap", [False, True])
def test_a_retracted_request_goes_on_where_it_was(overlap: bool, tiny, reference) -> None:
    """Its tokens come once each, in order, under its own uid, with its own seed."""
    settings = {"num_page_override": 24, "admission": "optimistic", "overlap": overlap, "cache_type": "naive"}
    llm = LLM(tiny(), **settings)
    prompts = [prompt(i, 6) for i in range(3)]
    seen: dict[int, list[int]] = {0: [], 1: [], 2: []}
    params = SamplingParams(max_tokens=10, ignore_eos=True, temperature=1.0, seed=3, frequency_penalty=0.5)
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(prompts, params, on_token=lambda index, token: seen[index].append(token))
    retracted = recorder.of_type("retract")
    assert retracted and {event["req"] for event in retracted} <= {1, 2}
    roomy = LLM(tiny(), num_page_override=64)
    for index, ids in enumerate(prompts):
        expected = roomy.generate([ids], params)[0]["token_ids"]
        assert results[index]["token_ids"] == seen[index] == expected


def test_optimistic_admission_lets_more_requests_run_at_once(tiny, reference) -> None:
    """64 slots, requests of 5 + 8: the worst case admits 4."""
    prompts = [prompt(i, 5) for i in range(10)]
    first = {}
    for admission in ("worst_case", "optimistic"):
        llm = LLM(tiny(), num_page_override=64, admission=admission, cache_type="naive")
        with trace.recording(trace.Recorder()) as recorder:
            results = llm.generate(prompts, GREEDY)
        assert [result["token_ids"] for result in results] == [reference("qwen3", ids, 8) for ids in prompts]
        first[admission] = len(recorder.of_type("batch")[0]["uids"])
    assert first["worst_case"] == 4 < first["optimistic"]


def test_a_retracted_request_comes_back_when_another_has_ended(tiny) -> None:
    """At once it would only be retracted again."""
    llm = LLM(tiny(), num_page_override=40, admission="optimistic", cache_type="naive")
    with trace.recording(trace.Recorder()) as recorder:
        llm.generate([prompt(i, 4) for i in range(4)], SamplingParams(max_tokens=24, ignore_eos=True))
    retracted = [event["req"] for event in recorder.of_type("retract")]
    assert 0 not in retracted and len(retracted) <= 2 * 3


def test_mixed_batches_do_not_cut_the_cache_into_single_tokens(tiny) -> None:
    """A running request is cached when it ends, not with every step in which a prompt runs as well."""
    llm = LLM(tiny(), num_page_override=512, max_extend_tokens=4, mixed=True)
    llm.generate([prompt(0, 4), prompt(1, 60)], SamplingParams(max_tokens=16, ignore_eos=True))
    assert len(list(llm.cache_manager.prefix_cache._nodes())) <= 4
