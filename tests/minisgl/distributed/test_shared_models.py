"""Ranks that share a model write what one process writes, for every kind of layer and each feature."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import rank_jobs
import torch
from rank_jobs import Ranks

from minisgl.core import SamplingParams
from minisgl.distributed import DistributedInfo
from minisgl.models.tiny import prompt

PROMPTS = [prompt(0, 5), prompt(1, 5), prompt(2, 4), prompt(3, 15)] + 2 * [prompt(0, 24) + prompt(4, 3)]
GREEDY = SamplingParams(max_tokens=8, ignore_eos=True)
UNTIED = {"tie_word_embeddings": False, "vocab_size": 509}
MOE = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
BIASES = {"o_bias": True, "mlp_bias": True, "qkv_bias": True}
ONE = DistributedInfo(0, 1)


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ranks]:
    ranks = Ranks(4, tmp_path_factory.mktemp("ranks"))
    yield ranks
    ranks.close()


def same_tokens(
    ranks: Ranks, size: int, model: Any, prompts: Any = None, params: Any = None, **settings: Any
):
    """Every rank writes what one process writes, also when the prompts come again and are cached."""
    settings.setdefault("num_page_override", 64)
    job = model, settings, prompts or PROMPTS, params or GREEDY, 2
    expected = rank_jobs.generate(ONE, *job)
    assert ranks.run(size, rank_jobs.generate, *job) == [expected] * size


@pytest.mark.parametrize("size", [2, 4])
@pytest.mark.parametrize(
    "model",
    [
        {"arch": "qwen3"},
        {"arch": "qwen2"},
        {"arch": "llama", **UNTIED},
        {"arch": "qwen3", "vocab_size": 509, **BIASES},
        {"arch": "qwen3_moe", **UNTIED},
    ],
    ids=["qwen3", "qwen2", "untied", "biases", "moe"],
)
def test_models(ranks: Ranks, model: dict[str, Any], size: int) -> None:
    prompts = [[token % 509 for token in ids] for ids in PROMPTS]
    same_tokens(ranks, size, model, prompts)


@pytest.mark.parametrize(
    "settings",
    [
        {"page_size": 4, "num_page_override": 24},
        {"cache_type": "naive", "page_size": 16},
        {"emulate_graph": True},
        {"max_running_req": 2},
        {"overlap": True},
        {"overlap": True, "max_extend_tokens": 7, "page_size": 4},
        {"overlap": True, "mixed": True, "max_extend_tokens": 16, "emulate_graph": True},
        {"admission": "optimistic", "num_page_override": 48, "policy": "lpm"},
    ],
    ids=str,
)
def test_features(ranks: Ranks, settings: dict[str, Any]) -> None:
    same_tokens(ranks, 2, {}, **settings)


def test_sampling(ranks: Ranks) -> None:
    params = [
        SamplingParams(temperature=1.0, max_tokens=8, ignore_eos=True),
        SamplingParams(temperature=0.8, top_k=20, top_p=0.9, seed=3, max_tokens=6, ignore_eos=True),
        SamplingParams(temperature=1.3, min_p=0.05, seed=4, max_tokens=8, ignore_eos=True),
        SamplingParams(temperature=0.7, frequency_penalty=1.0, max_tokens=8, ignore_eos=True),
        GREEDY,
        SamplingParams(temperature=1.0, seed=-1, max_tokens=1, ignore_eos=True),
    ]
    same_tokens(ranks, 2, {}, params=params)


def test_the_bundled_model(ranks: Ranks) -> None:
    same_tokens(ranks, 2, "minisgl-tiny", prompts=["Once upon a time", "The sky"])
    params = SamplingParams(max_tokens=30, stop=("a", "and"))  # ends in the middle of a run, by an abort
    same_tokens(ranks, 2, "minisgl-tiny", prompts=["Once upon a time", "The sky"], params=params)


def test_collectives(ranks: Ranks) -> None:
    for dtype in (torch.float32, torch.bfloat16):
        for rank, (total, gathered, in_place) in enumerate(ranks.run(3, rank_jobs.collectives, dtype)):
            assert in_place and total.dtype == gathered.dtype == dtype, rank
            assert torch.equal(total, torch.full((2, 3), 6, dtype=dtype))
            assert gathered[:, 0].tolist() == [1, 1, 2, 2, 3, 3]


def test_a_rank_that_leaves_is_missed(ranks: Ranks) -> None:
    assert ranks.run(2, rank_jobs.left_alone) == [True, True]


def test_what_a_rank_holds_and_says(ranks: Ranks) -> None:
    """The course's numbers: 2 sums a layer and one for the embedding, and the logits are gathered."""
    settings = {"num_page_override": 8}
    [whole] = [rank_jobs.facts(ONE, {}, settings, prompt(0, 5))]
    assert (whole["qkv rows"], whole["kv"], whole["events"]) == (128, 512, [])
    for size, rows, kv in ((2, 64, 256), (4, 48, 256)):
        for fact in ranks.run(size, rank_jobs.facts, {}, settings, prompt(0, 5)):
            assert (fact["qkv rows"], fact["kv"], fact["pages"]) == (rows, kv, 8)
            assert fact["buffer"] == whole["buffer"] // 2
            kinds = [event["type"] for event in fact["events"]]
            assert kinds == ["all_reduce"] * 5 + ["all_gather"]
            assert [event["bytes"] for event in fact["events"]] == [5 * 64 * 4] * 5 + [512 * 4]
    shares = ranks.run(2, rank_jobs.facts, {}, settings, prompt(0, 5))
    norms = 2 * (2 * 64 + 2 * 16) + 64
    assert [fact["weights"] for fact in shares] == [(106880 - norms) // 2 + norms] * 2


def test_all_pools_are_as_large_as_the_smallest(ranks: Ranks) -> None:
    before, after = [100_000, 80_000], [90_000, 75_000]  # bytes; a page of one token takes 256
    room = min(int(0.9 * 100_000) - 10_000, int(0.9 * 80_000) - 5_000)
    pages = ranks.run(2, rank_jobs.pages_with_free_memory, before, after)
    assert pages == [room // 256 - 1] * 2
