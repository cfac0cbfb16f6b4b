"""Penalties, against the formulas that transformers and OpenAI give."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.core import Batch, Req, SamplingParams
from minisgl.engine import Sampler

CPU, VOCAB = torch.device("cpu"), 12


def penalized(
    logits: torch.Tensor, requests: list[tuple[list[int], list[int], SamplingParams]]
) -> torch.Tensor:
    """Logits after the penalties of requests, each with its prompt, its output and its settings.

    The token pool is full of a token that none of them has, as a row is after its last request.
    """
    sampler = Sampler(CPU, VOCAB, 0, num_rows=len(requests))
    pool = torch.full((len(requests), 40), VOCAB - 1, dtype=torch.int32)
    sampler.penalties.token_pool = pool
    reqs = []
    for row, (prompt, output, params) in enumerate(requests):
        req = Req(torch.tensor(prompt + output, dtype=torch.int32), row, 0, 9, row, params, None)
        req.prompt_len = len(prompt)
        pool[row, : req.device_len] = req.input_ids
        reqs.append(req)
    args = sampler.prepare(Batch(reqs, "prefill"))
    before = logits.clone()
    result = logits if args.penalties is None else sampler.penalties.apply(logits, args.penalties)
    assert torch.equal(logits, before)
    return result


ids = st.lists(st.integers(0, VOCAB - 2), max_size=8)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(ids.filter(len), ids, st.sampled_from([1.0, 0.5, 1.3, 7.0])), min_size=1, max_size=4)
)
def test_repetition_penalty_is_that_of_transformers(rows: list[tuple[list[int], list[int], float]]) -> None:
    logits = torch.randn(len(rows), VOCAB, generator=torch.Generator().manual_seed(0)) * 3
    result = penalized(logits, [(p, o, SamplingParams(repetition_penalty=r)) for p, o, r in rows])
    for i, (prompt, output, penalty) in enumerate(rows):
        processor = transformers.RepetitionPenaltyLogitsProcessor(penalty)
        expected = processor(torch.tensor([prompt + output]), logits[i : i + 1].clone())
        torch.testing.assert_close(result[i : i + 1], expected)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(ids.filter(len), ids, st.sampled_from([0, 0.7, -2.0]), st.sampled_from([0.0, 0.3, -0.25])),
        min_size=1,
        max_size=4,
    )
)
def test_presence_and_frequency_are_openais_and_count_the_output_alone(
    rows: list[tuple[list[int], list[int], float, float]],
) -> None:
    logits = torch.randn(len(rows), VOCAB, generator=torch.Generator().manual_seed(0)) * 3
    params = [SamplingParams(presence_penalty=p, frequency_penalty=f) for _, _, p, f in rows]
    result = penalized(logits, [(*row[:2], own) for row, own in zip(rows, params, strict=True)])
    expected = logits.clone()
    for i, (_, output, presence, frequency) in enumerate(rows):
        for token, count in Counter(output).items():
            expected[i, token] -= count * frequency + (count > 0) * presence
    torch.testing.assert_close(result, expected)


def test_repetition_comes_first() -> None:
    params = SamplingParams(presence_penalty=1.0, frequency_penalty=0.5, repetition_penalty=2.0)
    logits = torch.tensor([[4.0, -4.0, 1.0] + [0.0] * (VOCAB - 3)])
    result = penalized(logits, [([2], [0, 1, 0], params)])
    assert result[0, :3].tolist() == [4 / 2 - 2, -4 * 2 - 1.5, 0.5]


def test_half_precision_is_penalized_in_float32() -> None:
    logits = torch.full((1, VOCAB), 100.0, dtype=torch.bfloat16)
    result = penalized(logits, [([1], [0], SamplingParams(frequency_penalty=0.1))])
    torch.testing.assert_close(result[0, :2], torch.tensor([99.9, 100.0]))


@pytest.mark.parametrize("penalty", [1e-300, 1e300])
def test_an_extreme_penalty_leaves_numbers(penalty: float) -> None:
    logits = torch.randn(1, VOCAB) * 50
    result = penalized(logits, [(list(range(VOCAB - 1)), [], SamplingParams(repetition_penalty=penalty))])
    assert result.isfinite().all()


def test_the_token_pool_is_needed() -> None:
    sampler = Sampler(CPU, VOCAB, 0, num_rows=1)
    req = Req(torch.zeros(2, dtype=torch.int32), 0, 0, 9, 0, SamplingParams(presence_penalty=1.0), None)
    args = sampler.prepare(Batch([req], "prefill"))
    with pytest.raises(RuntimeError, match="token pool"):
        sampler.sample(torch.zeros(1, VOCAB), args)
