"""Products of a few tokens, with norm, gate, bias and addition."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.kernel import reference, triton
from minisgl.kernel.triton.linear import MAX_TOKENS, VectorConfig

few = settings(max_examples=10, deadline=None, derandomize=True)
IN_SIZES = st.sampled_from([1, 24, 64, 200])
OUT_SIZES = st.sampled_from([1, 6, 100])
CONFIGS = st.sampled_from([None, VectorConfig(128, 1), VectorConfig(1024, 4)])
TOKENS = st.integers(1, 4)


def randn(*shape: int, device: torch.device, half: bool) -> torch.Tensor:
    """Half precision is bfloat16, except in the interpreter, which multiplies it as if it were integers."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))
    halved = torch.bfloat16 if device.type == "cuda" else torch.float16
    return x.to(device, halved if half else torch.float32)


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Relative to the whole: single sums may cancel. The references round in between, the kernels do not."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    error = (actual.double() - expected.double()).norm()
    allowed = 1e-5 if expected.dtype == torch.float32 else 2e-2
    assert error <= allowed * (expected.double().norm() + 1), error.item()


@few
@given(
    tokens=TOKENS,
    in_size=IN_SIZES,
    out_size=OUT_SIZES,
    half=st.booleans(),
    biased=st.booleans(),
    config=CONFIGS,
)
def test_norm_linear(
    device: torch.device,
    tokens: int,
    in_size: int,
    out_size: int,
    half: bool,
    biased: bool,
    config: VectorConfig | None,
) -> None:
    x, weight = (randn(n, in_size, device=device, half=half) for n in (tokens, out_size))
    norm_weight = randn(in_size, device=device, half=half)
    bias = randn(out_size, device=device, half=half) if biased else None
    arguments = (x, norm_weight, 1e-3, weight, bias)
    close(triton.norm_linear(*arguments, config=config), reference.norm_linear(*arguments))


@few
@given(tokens=TOKENS, in_size=IN_SIZES, out_size=OUT_SIZES, half=st.booleans(), config=CONFIGS)
def test_norm_gate_up(
    device: torch.device, tokens: int, in_size: int, out_size: int, half: bool, config: VectorConfig | None
) -> None:
    x, weight = (randn(n, in_size, device=device, half=half) for n in (tokens, 2 * out_size))
    arguments = (x, randn(in_size, device=device, half=half), 1e-3, weight)
    close(triton.norm_gate_up(*arguments, config=config), reference.norm_gate_up(*arguments))


@few
@given(tokens=TOKENS, in_size=IN_SIZES, out_size=OUT_SIZES, half=st.booleans(), config=CONFIGS)
def test_linear_add(
    device: torch.device, tokens: int, in_size: int, out_size: int, half: bool, config: VectorConfig | None
) -> None:
    x, weight = (randn(n, in_size, device=device, half=half) for n in (tokens, out_size))
    residual = randn(len(x), out_size, device=device, half=half)
    arguments = (x, weight, residual)
    close(triton.linear_add(*arguments, config=config), reference.linear_add(*arguments))


@pytest.mark.parametrize("tokens", [0, 1, MAX_TOKENS])
def test_as_many_tokens_as_fit(device: torch.device, tokens: int) -> None:
    x, weight = (randn(n, 64, device=device, half=False) for n in (tokens, 32))
    close(triton.linear_add(x, weight, x[:, :32]), reference.linear_add(x, weight, x[:, :32]))


def test_more_tokens_are_refused(device: torch.device) -> None:
    x, weight = (randn(n, 64, device=device, half=False) for n in (MAX_TOKENS + 1, 32))
    with pytest.raises(AssertionError, match="9 tokens"):
        triton.linear_add(x, weight, x[:, :32])
