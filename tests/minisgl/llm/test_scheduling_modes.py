"""How steps are made up never changes what is generated."""

from itertools import product

import pytest

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt

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
