"""Sampling: filters, distribution, seeds."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.core import Batch, Req, SamplingParams
from minisgl.engine import Sampler, filter_probs
from minisgl.engine.sample import draw, uniform

CPU = torch.device("cpu")


def filtered(probs: list[list[float]], k: list[int], p: list[float], m: list[float]) -> torch.Tensor:
    return filter_probs(torch.tensor(probs), torch.tensor(k), torch.tensor(p), torch.tensor(m))


def test_chapter_example() -> None:
    result = filtered([[0.5, 0.25, 0.15, 0.1]], [3], [0.6], [0.0])
    torch.testing.assert_close(result, torch.tensor([[2 / 3, 1 / 3, 0, 0]]))


def test_rows_have_their_own_settings_and_order_is_kept() -> None:
    probs = [[0.1, 0.6, 0.3], [0.1, 0.6, 0.3], [0.1, 0.6, 0.3], [0.1, 0.6, 0.3]]
    result = filtered(probs, [3, 1, 3, 3], [1.0, 1.0, 0.5, 1.0], [0.0, 0.0, 0.0, 0.4])
    expected = [[0.1, 0.6, 0.3], [0, 1, 0], [0, 1, 0], [0, 2 / 3, 1 / 3]]
    torch.testing.assert_close(result, torch.tensor(expected))


def test_ties_go_to_the_lower_id() -> None:
    result = filtered([[0.25, 0.25, 0.25, 0.25]], [2], [1.0], [0.0])
    assert result.tolist() == [[0.5, 0.5, 0.0, 0.0]]


def test_off_keeps_every_token() -> None:
    """Also those so unlikely that the sum before them rounds to 1."""
    probs = torch.tensor([[1.0, 1e-9, 1e-12]])
    result = filter_probs(probs, torch.tensor([3]), torch.tensor([1.0]), torch.tensor([0.0]))
    assert (result > 0).all()


def reference(probs: list[float], k: int, p: float, m: float) -> list[float]:
    """The rules, one token at a time in float64."""
    order = sorted(range(len(probs)), key=lambda i: (-probs[i], i))[:k]
    total = sum(probs[i] for i in order)
    kept, before = {}, 0.0
    for i in order:
        share = probs[i] / total
        if before < p and probs[i] >= m * probs[order[0]]:
            kept[i] = share
        before += share
    return [kept.get(i, 0.0) / sum(kept.values()) for i in range(len(probs))]


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_any_rows(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 9))
    counts = data.draw(
        st.lists(st.lists(st.integers(1, 50), min_size=size, max_size=size), min_size=1, max_size=4)
    )
    probs = [[c / sum(row) for c in row] for row in counts]
    k = [data.draw(st.integers(1, size)) for _ in probs]
    m = [data.draw(st.sampled_from([0.0, 0.137, 0.51])) for _ in probs]
    p = [data.draw(st.sampled_from([0.1037, 0.5003, 0.9013, 1.0])) for _ in probs]
    expected = [reference(*row) for row in zip(probs, k, p, m, strict=True)]
    torch.testing.assert_close(filtered(probs, k, p, m), torch.tensor(expected), rtol=1e-4, atol=1e-6)


def test_draw_follows_the_distribution() -> None:
    probs = torch.tensor([0.0, 0.5, 0.0, 0.3, 0.2, 0.0])
    n = 20000
    numbers = torch.tensor([uniform(seed, 0) for seed in range(n)], dtype=torch.float64)
    counts = draw(probs.expand(n, -1), numbers).bincount(minlength=6)
    assert counts[[0, 2, 5]].tolist() == [0, 0, 0]
    torch.testing.assert_close(counts / n, probs, rtol=0, atol=0.015)


@pytest.mark.parametrize("number", [0.0, 0.5, 1 - 2**-53])
def test_impossible_tokens_are_never_drawn(number: float) -> None:
    probs = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]])
    assert draw(probs, torch.tensor([number], dtype=torch.float64)).item() in (1, 3)


def test_uniform_numbers_are_uniform_and_unrelated() -> None:
    for numbers in ([uniform(7, i) for i in range(4000)], [uniform(i, 7) for i in range(4000)]):
        values = torch.tensor(numbers, dtype=torch.float64)
        assert ((values >= 0) & (values < 1)).all()
        assert (values.histc(10, 0, 1) / 4000 - 0.1).abs().max() < 0.02
        correlation = torch.corrcoef(torch.stack((values[:-1], values[1:])))[0, 1]
        assert correlation.abs() < 0.05
    assert uniform(-3, 5) != uniform(3, 5)


def batch_of(*params: SamplingParams, length: int = 4) -> Batch:
    ids = torch.zeros(length, dtype=torch.int32)
    return Batch([Req(ids, i, 0, 9, i, p, None) for i, p in enumerate(params)], "prefill")


def test_all_greedy_needs_nothing() -> None:
    sampler = Sampler(CPU, 5, seed=0)
    args = sampler.prepare(batch_of(SamplingParams(), SamplingParams(temperature=2.0, top_k=1)))
    assert args.rows is None
    tokens = sampler.sample(torch.tensor([[1.0, 3.0, 2.0, 0.0, 3.0], [0.0, 0, 0, 9, 0]]), args)
    assert tokens.tolist() == [1, 3] and tokens.dtype == torch.int32


def test_filters_are_prepared_only_when_used() -> None:
    sampler = Sampler(CPU, 5, seed=0)
    args = sampler.prepare(batch_of(SamplingParams(), SamplingParams(temperature=1.0)))
    assert args.rows is not None and args.rows.tolist() == [1] and args.top_k is None
    args = sampler.prepare(
        batch_of(SamplingParams(temperature=1.0), SamplingParams(temperature=1.0, top_p=0.5))
    )
    assert args.top_k is not None and args.top_k.tolist() == [5, 5]


def sample(sampler: Sampler, logits: torch.Tensor, *params: SamplingParams, length: int = 4) -> list[int]:
    return sampler.sample(logits, sampler.prepare(batch_of(*params, length=length))).tolist()


def test_seed_decides_whatever_the_batch() -> None:
    torch.manual_seed(0)
    logits = torch.randn(3, 50)
    seeded = SamplingParams(temperature=1.0, seed=5)
    other = SamplingParams(temperature=1.3, top_k=7)
    [alone] = sample(Sampler(CPU, 50, seed=0), logits[:1], seeded)
    assert sample(Sampler(CPU, 50, seed=9), logits, seeded, other, other)[0] == alone
    swapped = sample(Sampler(CPU, 50, seed=8), logits[[1, 0, 2]], SamplingParams(), seeded, other)
    assert swapped[1] == alone


def test_seed_and_position_both_matter() -> None:
    logits = torch.zeros(1, 1000)
    drawn = [
        sample(Sampler(CPU, 1000, seed=0), logits, SamplingParams(temperature=1.0, seed=seed), length=length)[
            0
        ]
        for seed, length in ((1, 4), (1, 5), (2, 4), (1, 4))
    ]
    assert drawn[0] == drawn[3] and len(set(drawn)) == 3


def test_without_seed_the_engines_decides() -> None:
    logits, params = torch.zeros(1, 1000), SamplingParams(temperature=1.0)
    first, again, other = (Sampler(CPU, 1000, seed=seed) for seed in (1, 1, 2))
    runs = [[sample(sampler, logits, params)[0] for _ in range(4)] for sampler in (first, again, other)]
    assert runs[0] == runs[1] != runs[2] and len(set(runs[0])) > 1


def test_sampled_tokens_follow_temperature_and_filters() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0]).log_softmax(-1)
    sampler = Sampler(CPU, 4, seed=3)
    params = SamplingParams(temperature=2.0, top_k=3)
    n = 8000
    tokens = torch.tensor(sample(sampler, logits.expand(n, -1), *[params] * n))
    expected = torch.tensor([2.0, 1.0, 0.0, float("-inf")]).div(2.0).softmax(-1)
    torch.testing.assert_close(tokens.bincount(minlength=4) / n, expected, rtol=0, atol=0.02)


@pytest.mark.parametrize("temperature", [1e-300, 1e-45, 1e-6])
def test_a_tiny_temperature_is_greedy(temperature: float) -> None:
    logits = torch.tensor([[500.0, 1.0, 501.0]])
    params = SamplingParams(temperature=temperature, top_p=0.5, seed=1)
    assert sample(Sampler(CPU, 3, seed=0), logits, params) == [2]
