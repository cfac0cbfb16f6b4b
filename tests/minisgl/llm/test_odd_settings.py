"""Page sizes that divide nothing, one row, pools for one request: the tokens stay those of transformers.

Each run is traced, and each trace has the form of its schema.
"""

import gc
import json

import jsonschema
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.core import SamplingParams
from minisgl.engine import Sampler
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import cdiv, trace

VALIDATOR = jsonschema.Draft202012Validator(json.loads(trace.SCHEMA_PATH.read_text(encoding="utf-8")))
MODEL = (tiny_config(), tiny_state_dict(tiny_config(), 0))
NEW = 6
GREEDY = SamplingParams(max_tokens=NEW, ignore_eos=True)


def traced(
    llm: LLM, prompts: list[list[int]], params: SamplingParams | list[SamplingParams]
) -> list[list[int]]:
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(prompts, params)
    for event in recorder.events:
        VALIDATOR.validate(event)
    return [result["token_ids"] for result in results]


def around(size: int) -> list[list[int]]:
    """Prompts that end just before, at and just behind the end of a page, and that share partial pages."""
    lengths = sorted(
        {n for n in (1, size - 1, size, size + 1, 2 * size - 1, 2 * size, 2 * size + 1) if n > 0}
    )
    same = [prompt(0, n) for n in lengths]
    return same + [prompt(0, n // 2) + prompt(1, n - n // 2) for n in lengths]


@pytest.mark.parametrize(("cache_type", "rows"), [("radix", 1), ("radix", 3), ("naive", 3)])
@pytest.mark.parametrize("size", [3, 5, 7, 64])
def test_a_pool_that_holds_one_request(size: int, cache_type: str, rows: int, reference) -> None:
    prompts = around(size)
    pages = max(2, cdiv(len(max(prompts, key=len)) + NEW, size))
    llm = LLM(MODEL, page_size=size, num_page_override=pages, max_running_req=rows, cache_type=cache_type)
    expected = [reference("qwen3", ids, NEW) for ids in prompts]
    assert traced(llm, prompts, GREEDY) == expected
    again = llm.generate(prompts[::-1], GREEDY)
    assert [result["token_ids"] for result in again] == expected[::-1], (
        "with all that the first call has left"
    )
    llm.run_when_idle()


@pytest.mark.parametrize("size", [1, 3, 64])
def test_the_same_prompt_many_times(size: int, reference) -> None:
    llm = LLM(MODEL, page_size=size, num_page_override=cdiv(200, size), max_running_req=16)
    ids = prompt(0, 13)
    assert traced(llm, [ids] * 30, GREEDY) == [reference("qwen3", ids, NEW)] * 30


@pytest.mark.parametrize("size", [1, 5])
def test_storms_of_evictions(size: int, reference) -> None:
    llm = LLM(MODEL, page_size=size, num_page_override=cdiv(60, size), max_running_req=4)
    prompts = [prompt(i % 7, 8 + i % 5) + prompt(i, 4) for i in range(40)]
    with trace.recording(trace.Recorder()) as recorder:
        tokens = [result["token_ids"] for result in llm.generate(prompts, GREEDY)]
    assert tokens == [reference("qwen3", ids, NEW) for ids in prompts]
    assert len(recorder.of_type("evict")) > 20


@settings(max_examples=15, deadline=None, derandomize=True)
@given(data=st.data())
def test_any_settings_and_seeds_give_a_request_its_own_tokens(data: st.DataObject) -> None:
    """Greedy and seeded requests together, against each of them alone in a plain engine."""
    size = data.draw(st.sampled_from([1, 2, 3, 5, 7, 16, 64]))
    count = data.draw(st.integers(1, 8))
    prompts, params = [], []
    for _ in range(count):
        shared, own = data.draw(st.integers(0, 16)), data.draw(st.integers(1, 6))
        prompts.append(
            prompt(data.draw(st.integers(0, 1)), shared) + prompt(data.draw(st.integers(2, 4)), own)
        )
        params.append(
            SamplingParams(
                temperature=data.draw(st.sampled_from([0.0, 0.8, 5.0])),
                top_k=data.draw(st.sampled_from([-1, 3])),
                top_p=data.draw(st.sampled_from([1.0, 0.7])),
                seed=data.draw(st.integers(-3, 3)),
                max_tokens=data.draw(st.integers(1, NEW)),
                ignore_eos=True,
            )
        )
    alone = LLM(MODEL, num_page_override=64, cache_type="naive")
    expected = [alone.generate([ids], p)[0]["token_ids"] for ids, p in zip(prompts, params, strict=True)]
    longest = max(len(ids) for ids in prompts) + NEW
    pages = max(2, cdiv(longest, size) + data.draw(st.integers(0, 6)))
    llm = LLM(
        MODEL,
        page_size=size,
        num_page_override=pages,
        max_running_req=data.draw(st.sampled_from([1, 2, 8])),
        cache_type=data.draw(st.sampled_from(["radix", "radix", "naive"])),
        max_extend_tokens=data.draw(st.sampled_from([22, 1000])),
    )
    assert traced(llm, prompts, params) == expected
    assert [result["token_ids"] for result in llm.generate(prompts, params)] == expected


def test_sampled_tokens_follow_the_logits_distribution(reference) -> None:
    """2,000 first tokens of one prompt: how often the four likeliest come, against softmax."""
    llm = LLM(MODEL, num_page_override=4096, max_running_req=256)
    seen: list[torch.Tensor] = []
    sample = Sampler.sample

    def watching(self, logits, *args):
        seen.append(logits.clone())
        return sample(self, logits, *args)

    count, temperature = 2000, 0.5
    llm.engine.sampler.sample = watching.__get__(llm.engine.sampler)  # type: ignore[method-assign]
    params = [
        SamplingParams(temperature=temperature, seed=seed, max_tokens=1, ignore_eos=True)
        for seed in range(count)
    ]
    tokens = torch.tensor([r["token_ids"][0] for r in llm.generate([prompt(0, 5)] * count, params)])
    probs = (seen[0][0] / temperature).softmax(-1)
    for token in probs.topk(4).indices.tolist():
        p = float(probs[token])
        deviation = (p * (1 - p) / count) ** 0.5
        assert abs(float((tokens == token).float().mean()) - p) < 4 * deviation


def test_many_calls_leave_nothing_behind() -> None:
    """Objects and tensors after 60 calls are as many as after 30, once the cache is full."""
    llm = LLM(MODEL, num_page_override=64, page_size=2, max_running_req=4)

    def tensors() -> int:
        gc.collect()
        return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())

    counts = []
    for call in range(90):
        llm.generate([prompt(call, 9), prompt(0, 4) + prompt(call, 5)], GREEDY)
        if call % 30 == 29:
            counts.append(tensors())
    assert counts[2] - counts[1] < 20
