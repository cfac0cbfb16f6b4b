"""Kernels that work row by row: each equals its reference, at sizes that are no power of 2, too."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.kernel import reference, triton
from minisgl.layers.rotary import inverse_frequencies, make_cos_sin

DTYPES = st.sampled_from([torch.float32, torch.bfloat16])
few = settings(max_examples=12, deadline=None, derandomize=True)


def randn(*shape: int, device: torch.device, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator).to(device, dtype)


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    """Two roundings of bfloat16 apart (the interpreter cuts off), or a few of float32."""
    rtol, atol = (2e-2, 2e-2) if expected.dtype == torch.bfloat16 else (2e-5, 2e-6)
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol)


@few
@given(n=st.integers(0, 5), row=st.sampled_from([1, 3, 24, 128, 1500]), dtype=DTYPES, wide=st.booleans())
def test_store_cache(device: torch.device, n: int, row: int, dtype: torch.dtype, wide: bool) -> None:
    k, v = randn(2, n, row, device=device, dtype=dtype)
    loc = torch.randperm(9)[:n].to(device, torch.int64 if wide else torch.int32)
    caches = randn(2, 9, row, device=device, dtype=dtype)
    expected = caches.clone()
    triton.store_cache(k, v, loc, *caches)
    reference.store_cache(k, v, loc, *expected)
    assert torch.equal(caches, expected)


def test_store_cache_takes_views(device: torch.device) -> None:
    qkv, caches = randn(3, 7, 4, device=device), torch.zeros(2, 5, 2, 4, device=device)
    triton.store_cache(qkv[:, 3:5], qkv[:, 5:], torch.tensor([4, 0, 2], device=device), *caches)
    assert torch.equal(caches[0][[4, 0, 2]], qkv[:, 3:5]) and torch.equal(caches[1][[4, 0, 2]], qkv[:, 5:])
    assert caches[:, [1, 3]].abs().max() == 0


@few
@given(n=st.integers(0, 5), size=st.sampled_from([1, 6, 64, 1500]), dtype=DTYPES)
def test_indexing(device: torch.device, n: int, size: int, dtype: torch.dtype) -> None:
    table, ids = randn(7, size, device=device, dtype=dtype), torch.randint(0, 7, (n,), device=device)
    assert torch.equal(triton.indexing(table, ids.int()), reference.indexing(table, ids))


@few
@given(n=st.integers(0, 5), size=st.sampled_from([1, 6, 64, 1000]), dtype=DTYPES)
def test_norms(device: torch.device, n: int, size: int, dtype: torch.dtype) -> None:
    x, residual, weight = (randn(*s, device=device, dtype=dtype) for s in ((n, size), (n, size), (size,)))
    close(triton.rms_norm(x, weight, 1e-3), reference.rms_norm(x, weight, 1e-3))
    normed, total = triton.fused_add_rms_norm(x, residual, weight, 1e-3)
    expected = reference.fused_add_rms_norm(x, residual, weight, 1e-3)
    close(normed, expected[0])
    close(total, expected[1])


def test_norm_of_a_view_of_heads(device: torch.device) -> None:
    heads, weight = randn(3, 5, 8, device=device), randn(8, device=device)
    close(triton.rms_norm(heads[:, 1:4], weight, 0.0), reference.rms_norm(heads[:, 1:4], weight, 0.0))


@few
@given(n=st.integers(0, 4), size=st.sampled_from([1, 6, 96, 1500]), dtype=DTYPES)
def test_silu_and_mul(device: torch.device, n: int, size: int, dtype: torch.dtype) -> None:
    x = randn(n, 2 * size, device=device, dtype=dtype) * 4
    close(triton.silu_and_mul(x), reference.silu_and_mul(x))


def test_silu_of_large_values(device: torch.device) -> None:
    x = torch.tensor([[-300.0, 300.0, 1.0, 1.0]], device=device)
    assert triton.silu_and_mul(x).tolist() == [[0.0, 300.0]]


@few
@given(n=st.integers(0, 4), heads=st.integers(1, 5), size=st.sampled_from([2, 6, 16, 80, 128]), dtype=DTYPES)
def test_apply_rope(device: torch.device, n: int, heads: int, size: int, dtype: torch.dtype) -> None:
    x = randn(n, heads, size, device=device, dtype=dtype)
    table = make_cos_sin(inverse_frequencies(size, 100.0), 64).to(device)
    positions = torch.randint(0, 64, (n,), device=device, dtype=torch.int32)
    close(triton.apply_rope(x, positions, table), reference.apply_rope(x, positions, table))


@few
@given(
    n=st.integers(0, 4),
    group=st.integers(1, 3),
    num_kv_heads=st.integers(1, 3),
    size=st.sampled_from([6, 16, 128]),
    dtype=DTYPES,
    normed=st.booleans(),
)
def test_qk_norm_rope_store(
    device: torch.device,
    n: int,
    group: int,
    num_kv_heads: int,
    size: int,
    dtype: torch.dtype,
    normed: bool,
) -> None:
    num_qo_heads = group * num_kv_heads
    qkv = randn(n, (num_qo_heads + 2 * num_kv_heads) * size, device=device, dtype=dtype)
    weights = [randn(size, device=device, dtype=dtype) if normed else None for _ in "qk"]
    table = make_cos_sin(inverse_frequencies(size, 100.0), 64).to(device)
    positions = torch.randint(0, 64, (n,), device=device, dtype=torch.int32)
    loc = torch.randperm(9, device=device)[:n].int()
    caches = randn(2, 9, num_kv_heads, size, device=device, dtype=dtype)
    expected = caches.clone()
    fixed = (qkv, *weights, 1e-6, table, positions, loc)
    q = triton.qk_norm_rope_store(*fixed, *caches, num_qo_heads, num_kv_heads)
    close(q, reference.qk_norm_rope_store(*fixed, *expected, num_qo_heads, num_kv_heads))
    close(caches, expected)
    untouched = torch.ones(9, dtype=torch.bool).index_fill(0, loc.cpu().long(), False).to(device)
    assert torch.equal(caches[:, untouched], expected[:, untouched])
    assert torch.equal(caches[1], expected[1]), "values are copied, not computed"
