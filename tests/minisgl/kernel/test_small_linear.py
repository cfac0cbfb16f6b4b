"""Products of a few tokens, with norm, gate, bias and addition."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.kernel import MAX_SMALL_BATCH, reference, triton

few = settings(max_examples=15, deadline=None, derandomize=True)
TOKENS = st.integers(0, MAX_SMALL_BATCH)
IN_SIZES = st.sampled_from([1, 24, 64, 384])
OUT_SIZES = st.sampled_from([1, 6, 100])
DTYPES = st.sampled_from([torch.float32, torch.bfloat16])


def randn(*shape: int, device: torch.device, dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(device, dtype)


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Relative to the whole: single sums may cancel. The references round in between, the kernels do not."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    error = (actual.double() - expected.double()).norm()
    allowed = 2e-2 if expected.dtype == torch.bfloat16 else 1e-5
    assert error <= allowed * (expected.double().norm() + 1), error.item()


@few
@given(tokens=TOKENS, in_size=IN_SIZES, out_size=OUT_SIZES, dtype=DTYPES, biased=st.booleans())
def test_norm_linear(
    device: torch.device, tokens: int, in_size: int, out_size: int, dtype: torch.dtype, biased: bool
) -> None:
    x, weight = (randn(n, in_size, device=device, dtype=dtype) for n in (tokens, out_size))
    norm_weight = randn(in_size, device=device, dtype=dtype)
    bias = randn(out_size, device=device, dtype=dtype) if biased else None
    arguments = (x, norm_weight, 1e-3, weight, bias)
    close(triton.norm_linear(*arguments), reference.norm_linear(*arguments))


@few
@given(tokens=TOKENS, in_size=IN_SIZES, out_size=OUT_SIZES, dtype=DTYPES)
def test_norm_gate_up(
    device: torch.device, tokens: int, in_size: int, out_size: int, dtype: torch.dtype
) -> None:
    x, weight = (randn(n, in_size, device=device, dtype=dtype) for n in (tokens, 2 * out_size))
    arguments = (x, randn(in_size, device=device, dtype=dtype), 1e-3, weight)
    close(triton.norm_gate_up(*arguments), reference.norm_gate_up(*arguments))


@few
@given(tokens=TOKENS, in_size=IN_SIZES, out_size=OUT_SIZES, dtype=DTYPES)
def test_linear_add(
    device: torch.device, tokens: int, in_size: int, out_size: int, dtype: torch.dtype
) -> None:
    x, weight = (randn(n, in_size, device=device, dtype=dtype) for n in (tokens, out_size))
    residual = randn(tokens, out_size, device=device, dtype=dtype)
    close(triton.linear_add(x, weight, residual), reference.linear_add(x, weight, residual))
