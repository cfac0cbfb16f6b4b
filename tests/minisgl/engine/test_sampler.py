"""Sampling: filters, distribution, seeds, settings of many requests at once."""

from __future__ import annotations

import math

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.core import Batch, Req, SamplingParams
from minisgl.engine import NO_TOKEN, Sampler, filter_probs
from minisgl.engine.sample import (
    CANDIDATES,
    FilterArgs,
    _mix,
    _signed,
    draw,
    draw_filtered,
    narrow,
    uniform,
    uniforms,
)

CPU = torch.device("cpu")


def new_sampler(vocab_size: int, seed: int = 0, rows: int = 16) -> Sampler:
    return Sampler(CPU, vocab_size, seed, rows)


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


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(-(2**70), 2**70), st.integers(0, 2**31)), min_size=1, max_size=5))
def test_uniforms_of_a_batch_are_those_of_each(pairs: list[tuple[int, int]]) -> None:
    states = torch.tensor([_signed(_mix(seed)) for seed, _ in pairs])
    numbers = uniforms(states, torch.tensor([position for _, position in pairs]))
    assert numbers.dtype == torch.float64
    assert numbers.tolist() == [uniform(seed, position) for seed, position in pairs]


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_narrowing_keeps_the_likeliest_with_the_lowest_ids(data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.sampled_from([0.0, 1e-30, 0.5, 1.0, 3.0]), min_size=1, max_size=20))
    count = data.draw(st.integers(1, len(weights)))
    order = sorted(range(len(weights)), key=lambda i: (-weights[i], i))[:count]
    likely, ids = narrow(torch.tensor([weights]), count)
    assert ids.tolist() == [sorted(order)]
    torch.testing.assert_close(likely[0], torch.tensor(weights)[sorted(order)])


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_a_large_vocabulary_is_narrowed_without_a_trace(few: bool, spread: float) -> None:
    """With a small spread more tokens than the candidates pass; with a large one they are enough."""
    generator = torch.Generator().manual_seed(1)
    rows, vocab = 24, 8 * CANDIDATES + 1000
    probs = (torch.randn(rows, vocab, generator=generator) * spread).softmax(-1)
    top_k = torch.randint(1, CANDIDATES + 1, (rows,), generator=generator)
    if not few:
        top_k[::2], top_k[1::4] = vocab, CANDIDATES + 500
    top_p = torch.tensor([1.0, 0.9, 0.5]).repeat(8)
    min_p = torch.tensor([0.0, 0.0, 0.0, 0.02, 0.3, 0.0]).repeat(4)
    numbers = torch.rand(rows, dtype=torch.float64, generator=generator)
    filters = FilterArgs(torch.arange(rows), top_k, top_p, min_p)
    expected = draw(filter_probs(probs, top_k, top_p, min_p), numbers)
    assert draw_filtered(probs, numbers, filters, few=few).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("temperature", "k", "p", "m"),
    [(0.7, 5, 1.0, 0.0), (1.0, 40, 0.8, 0.0), (1.7, 40, 1.0, 0.1), (1.2, 7, 0.6, 0.3), (1.0, 50, 0.95, 0.01)],
)
def test_filters_are_those_of_transformers(temperature: float, k: int, p: float, m: float) -> None:
    logits = torch.randn(16, 50, generator=torch.Generator().manual_seed(2)) * 2
    scores = transformers.TemperatureLogitsWarper(temperature)(None, logits)
    for warper in (
        transformers.TopKLogitsWarper(k),
        transformers.TopPLogitsWarper(p),
        transformers.MinPLogitsWarper(m),
    ):
        scores = warper(None, scores)
    probs = (logits / temperature).softmax(-1)
    result = filter_probs(probs, torch.full((16,), k), torch.full((16,), p), torch.full((16,), m))
    torch.testing.assert_close(result, scores.softmax(-1), rtol=1e-4, atol=1e-6)


def batch_of(*params: SamplingParams, length: int = 4, first_uid: int = 0) -> Batch:
    ids = torch.zeros(length, dtype=torch.int32)
    return Batch([Req(ids, i, 0, 9, first_uid + i, p, None) for i, p in enumerate(params)], "prefill")


def test_all_greedy_needs_nothing() -> None:
    sampler = new_sampler(5)
    args = sampler.prepare(batch_of(SamplingParams(), SamplingParams(temperature=2.0, top_k=1)))
    assert args.temperatures is None and args.uniforms is None
    tokens = sampler.sample(torch.tensor([[1.0, 3.0, 2.0, 0.0, 3.0], [0.0, 0, 0, 9, 0]]), args)
    assert tokens.tolist() == [1, 3] and tokens.dtype == torch.int32


def test_filters_are_prepared_only_when_used() -> None:
    sampler = new_sampler(5)
    args = sampler.prepare(batch_of(SamplingParams(), SamplingParams(temperature=1.0)))
    assert args.temperatures is not None and args.temperatures.tolist() == [0, 1]
    assert args.few is None and args.many is None
    args = sampler.prepare(
        batch_of(SamplingParams(temperature=1.0), SamplingParams(temperature=1.0, top_p=0.5), first_uid=2)
    )
    assert args.few is not None and args.few.rows.tolist() == [1] and args.few.top_k.tolist() == [5]


def test_a_decode_step_reads_no_request_but_its_row_and_length() -> None:
    """What it needs of the settings was written when the request came."""
    sampler = new_sampler(50)
    batch = batch_of(
        SamplingParams(temperature=1.0, seed=3), SamplingParams(), SamplingParams(temperature=0.5, top_k=9)
    )
    first = sampler.prepare(batch)
    for req in batch.reqs:
        req.sampling_params = None  # type: ignore[assignment]
    again = sampler.prepare(Batch(batch.reqs[::-1], "decode"))
    assert first.uniforms is not None and again.uniforms is not None
    assert again.uniforms.tolist() == first.uniforms.flip(0).tolist()
    assert again.few is not None and again.few.rows.tolist() == [0] and again.few.top_k.tolist() == [9]


def test_the_next_request_of_a_row_has_its_own_settings() -> None:
    sampler = new_sampler(50)
    sampler.prepare(batch_of(SamplingParams(temperature=1.0, top_k=9, presence_penalty=1.0, logprobs=2)))
    args = sampler.prepare(batch_of(SamplingParams(), first_uid=7))
    assert args == type(args)()
    args = sampler.prepare(batch_of(SamplingParams(temperature=0.5, top_p=0.9), first_uid=8))
    assert args.few is not None and args.few.top_k.tolist() == [50] and args.temperatures is not None
    assert args.temperatures.tolist() == [0.5]


def test_what_a_graph_has_sampled_is_kept_where_nothing_filters() -> None:
    sampler, logits = new_sampler(50), torch.randn(2, 50, generator=torch.Generator().manual_seed(3))
    batch = batch_of(
        SamplingParams(temperature=1.0, seed=1), SamplingParams(temperature=1.0, seed=1, top_k=2)
    )
    args = sampler.prepare(batch)
    in_graph = torch.tensor([17, 18], dtype=torch.int32)
    tokens = sampler.sample(logits, args, in_graph)
    assert tokens[0] == 17 and tokens[1] == sampler.sample(logits, args)[1] and in_graph.tolist() == [17, 18]


def sample(
    sampler: Sampler, logits: torch.Tensor, *params: SamplingParams, length: int = 4, first_uid: int = 0
) -> list[int]:
    batch = batch_of(*params, length=length, first_uid=first_uid)
    return sampler.sample(logits, sampler.prepare(batch)).tolist()


FILTERED = SamplingParams(temperature=1.0, seed=5, top_k=20, top_p=0.9)


@pytest.mark.parametrize("seeded", [SamplingParams(temperature=1.0, seed=5), FILTERED])
def test_seed_decides_whatever_the_batch(seeded: SamplingParams) -> None:
    torch.manual_seed(0)
    logits = torch.randn(3, 50)
    other = SamplingParams(temperature=1.3, top_k=7)
    [alone] = sample(new_sampler(50), logits[:1], seeded)
    assert sample(new_sampler(50, seed=9), logits, seeded, other, other)[0] == alone
    swapped = sample(new_sampler(50, seed=8), logits[[1, 0, 2]], SamplingParams(), seeded, other)
    assert swapped[1] == alone


def test_seed_and_position_both_matter() -> None:
    logits = torch.zeros(1, 1000)
    drawn = [
        sample(new_sampler(1000), logits, SamplingParams(temperature=1.0, seed=seed), length=length)[0]
        for seed, length in ((1, 4), (1, 5), (2, 4), (1, 4))
    ]
    assert drawn[0] == drawn[3] and len(set(drawn)) == 3


def test_without_seed_the_engines_and_the_uid_decide() -> None:
    logits, params = torch.zeros(1, 1000), SamplingParams(temperature=1.0)
    first, again, other = (new_sampler(1000, seed=seed) for seed in (1, 1, 2))
    runs = [
        [sample(sampler, logits, params, first_uid=uid)[0] for uid in range(4)]
        for sampler in (first, again, other)
    ]
    assert runs[0] == runs[1] != runs[2] and len(set(runs[0])) > 1


def test_sampled_tokens_follow_temperature_and_filters() -> None:
    logits = torch.tensor([2.0, 1.0, 0.0, -1.0]).log_softmax(-1)
    n = 8000
    sampler = new_sampler(4, seed=3, rows=n)
    params = SamplingParams(temperature=2.0, top_k=3)
    tokens = torch.tensor(sample(sampler, logits.expand(n, -1), *[params] * n))
    expected = torch.tensor([2.0, 1.0, 0.0, float("-inf")]).div(2.0).softmax(-1)
    torch.testing.assert_close(tokens.bincount(minlength=4) / n, expected, rtol=0, atol=0.02)


@pytest.mark.parametrize("temperature", [1e-300, 1e-45, 1e-6])
def test_a_tiny_temperature_is_greedy(temperature: float) -> None:
    logits = torch.tensor([[500.0, 1.0, 501.0]])
    params = SamplingParams(temperature=temperature, top_p=0.5, seed=1)
    assert sample(new_sampler(3), logits, params) == [2]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_logits_that_are_no_numbers_fail_alone(bad: float) -> None:
    logits = torch.randn(8, 50, generator=torch.Generator().manual_seed(4))
    params = [
        SamplingParams(),
        SamplingParams(temperature=1.0, seed=1),
        SamplingParams(temperature=1.0, seed=1, top_p=0.9),
        SamplingParams(temperature=1.0, seed=1, repetition_penalty=1.3, min_p=0.1, logprobs=2),
    ] * 2
    sampler = new_sampler(50)
    sampler.penalties.token_pool = torch.zeros(16, 10, dtype=torch.int32)
    expected = sample(sampler, logits, *params)
    assert NO_TOKEN not in expected
    broken = logits.clone()
    broken[::2, 7] = bad
    tokens = sample(sampler, broken, *params)
    assert tokens[::2] == [NO_TOKEN] * 4 and tokens[1::2] == expected[1::2]
    assert sample(sampler, broken * math.nan, *params) == [NO_TOKEN] * 8
