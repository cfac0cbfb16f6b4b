"""Two GPUs: NCCL in graphs and under overlap, the same tokens as one GPU, and a rank that dies."""

from __future__ import annotations

import time
from typing import Any

import pytest
import rank_initializers
import torch

from minisgl.core import SamplingParams
from minisgl.distributed.launch import RankError
from minisgl.llm import LLM, Generation
from minisgl.models import ModelConfig
from minisgl.models.config import RotaryConfig
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there are no two CUDA devices"),
]

PROMPTS = [prompt(i, 5 + 7 * i) for i in range(8)] + 2 * [prompt(0, 24) + prompt(4, 3)]
GREEDY = SamplingParams(max_tokens=24, ignore_eos=True, logprobs=2)
SETTINGS: dict[str, Any] = {"device": "cuda", "num_page_override": 2048, "max_running_req": 8}
TIE = 0.3  # margins of log-probabilities that sums of rounded numbers, in another order, may turn around


def run(config: ModelConfig, tp_size: int, params: Any = GREEDY, **settings: Any) -> list[Generation]:
    """Results of two calls: the second finds prefixes cached."""
    llm = LLM((config, tiny_state_dict(config, 0)), tp_size=tp_size, **{**SETTINGS, **settings})
    try:
        assert llm.overlap and llm.engine.graph_runner.max_graph_bs > 0
        return [result for _ in range(2) for result in llm.generate(PROMPTS, params)]
    finally:
        llm.shutdown()


def margins(result: Generation) -> list[float]:
    """By how much each token's log-probability was above the next likely one's."""
    assert result["logprobs"] is not None
    return [entry["top"][0][1] - entry["top"][1][1] for entry in result["logprobs"]]


def test_float32_gives_the_same_tokens_sampled_ones_too() -> None:
    params = [GREEDY] * 7 + [
        SamplingParams(temperature=0.8, top_k=20, top_p=0.9, seed=3, max_tokens=8, ignore_eos=True),
        SamplingParams(temperature=1.1, seed=5, max_tokens=8, ignore_eos=True),
        SamplingParams(temperature=1.0, max_tokens=8, ignore_eos=True),
    ]
    config = tiny_config("llama", tie_word_embeddings=False, vocab_size=515)
    one, two = (run(config, size, params, mixed=True, max_extend_tokens=16) for size in (1, 2))
    assert [result["token_ids"] for result in one] == [result["token_ids"] for result in two]


@pytest.mark.parametrize(("arch", "dtype"), [("qwen3", torch.bfloat16), ("qwen3_moe", torch.float32)])
def test_rounded_products_give_the_same_tokens_but_for_near_ties(arch: str, dtype: torch.dtype) -> None:
    config = tiny_config(
        arch,  # type: ignore[arg-type]
        num_layers=4,
        hidden_size=512,
        num_qo_heads=8,
        num_kv_heads=2,
        head_dim=128,
        intermediate_size=1024,
        rotary_config=RotaryConfig(head_dim=128, max_position=2048, base=1e6),
        tie_word_embeddings=False,
    )
    params = SamplingParams(max_tokens=6, ignore_eos=True, logprobs=2)
    one, two = (run(config, size, params, dtype=dtype) for size in (1, 2))
    parted = 0
    for alone, shared in zip(one, two, strict=True):
        pairs = zip(alone["token_ids"], shared["token_ids"], margins(alone), strict=True)
        first = next((margin for a, b, margin in pairs if a != b), None)
        if first is not None:
            parted += 1
            assert first < TIE
    assert parted <= len(one) / 2, "near ties are rare"


def test_a_rank_that_dies_ends_the_run_within_seconds() -> None:
    config = tiny_config()
    model = config, tiny_state_dict(config, 0)
    llm = LLM(model, tp_size=2, rank_initializer=rank_initializers.die_in_step_4, **SETTINGS)
    start = time.monotonic()
    with pytest.raises(RankError, match="rank 1 of 2 was killed by SIGKILL"):
        llm.generate(PROMPTS, GREEDY)
    assert time.monotonic() - start < 30, "not only when some timeout is over"
    llm = LLM(model, tp_size=2, **SETTINGS)  # this process is none the worse for it
    assert len(llm.generate(PROMPTS[:1], GREEDY)[0]["token_ids"]) == 24
    llm.shutdown()
