"""Sampling: the tokens of the reference, and the edges of the distribution."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.kernel import NO_TOKEN, reference, triton

VOCABS = st.sampled_from([1, 2, 7, 300, 4096, 4097, 9001])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    vocab=VOCABS,
    temperatures=st.lists(st.sampled_from([0.0, 1e-38, 0.3, 1.0, 8.0]), max_size=4),
    dtype=st.sampled_from([torch.float32, torch.bfloat16]),
    seed=st.integers(0, 99),
)
def test_tokens_of_the_reference(
    device: torch.device, vocab: int, temperatures: list[float], dtype: torch.dtype, seed: int
) -> None:
    torch.manual_seed(seed)
    n = len(temperatures)
    logits = (torch.randn(n, vocab) * 3).to(device, dtype)
    settings_ = torch.tensor(temperatures, device=device), torch.rand(n, dtype=torch.float64).to(device)
    tokens = triton.sample_tokens(logits, *settings_)
    assert tokens.dtype == torch.int32
    assert torch.equal(tokens, reference.sample_tokens(logits, *settings_))


def test_every_part_of_the_distribution(device: torch.device) -> None:
    """Probabilities 1/2, 1/4, 0, 1/4 in three blocks: each random number has its token."""
    logits = torch.full((8, 9000), -math.inf)
    logits[:, [10, 4100, 8999]] = torch.tensor([0.5, 0.25, 0.25]).log()
    uniforms = torch.tensor([0.0, 0.25, 0.49, 0.51, 0.74, 0.76, 1 - 2**-53, 1.0])
    tokens = triton.sample_tokens(logits.to(device), torch.ones(8, device=device), uniforms.to(device))
    assert tokens.tolist() == [10, 10, 10, 4100, 4100, 8999, 8999, 8999]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_row_without_finite_maximum(device: torch.device, temperature: float, bad: float) -> None:
    logits = torch.zeros(4, 5000)
    logits[1, 4999], logits[2], logits[3, 3] = bad, -math.inf, 9999.0
    settings_ = torch.full((4,), temperature, device=device), torch.full((4,), 0.5, device=device)
    tokens = triton.sample_tokens(logits.to(device), *settings_).tolist()
    assert tokens[1:] == [NO_TOKEN, NO_TOKEN, 3]
    assert tokens == reference.sample_tokens(logits.to(device), *settings_).tolist()


def test_the_first_of_equal_ones(device: torch.device) -> None:
    logits = torch.zeros(1, 9001)
    logits[0, [77, 78, 5000, 9000]] = 1.0
    zeros = torch.zeros(1, device=device)
    assert triton.sample_tokens(logits.to(device), zeros, zeros).tolist() == [77]
