"""Paged attention against a loop that anybody can check."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.attention import create_attention_backend, paged_attention, seqlen_metadata
from minisgl.kvcache import create_kv_cache


def naive_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale):
    """One query of one head at a time, in float64."""
    group = q.shape[1] // k_cache.shape[1]
    out = torch.zeros(q.shape, dtype=torch.float64)
    for i, length in enumerate(cache_seqlens.tolist()):
        start, end = cu_seqlens_q[i].item(), cu_seqlens_q[i + 1].item()
        for token in range(start, end):
            visible = page_table[i, : length - (end - 1 - token)].long()
            for head in range(q.shape[1]):
                k = k_cache[visible, head // group].double()
                v = v_cache[visible, head // group].double()
                out[token, head] = torch.softmax(k @ q[token, head].double() * scale, dim=0) @ v
    return out


def inputs(lengths: list[tuple[int, int]], seed: int, group: int, kv_heads: int, dim: int, extra: int = 3):
    """`lengths`: queries and keys of each request; its tokens lie anywhere, and past them is garbage."""
    generator = torch.Generator().manual_seed(seed)
    slots = sum(keys for _, keys in lengths) + 5
    scattered = torch.randperm(slots, generator=generator).to(torch.int32)
    width = max(keys for _, keys in lengths) + extra
    page_table = torch.full((len(lengths), width), 10**9, dtype=torch.int32)
    used = 0
    for row, (_, keys) in enumerate(lengths):
        page_table[row, :keys] = scattered[used : used + keys]
        used += keys
    queries = torch.tensor([n for n, _ in lengths])
    cu = torch.cat((torch.zeros(1, dtype=torch.int64), queries.cumsum(0))).to(torch.int32)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, generator=generator)

    cache_seqlens = torch.tensor([keys for _, keys in lengths], dtype=torch.int32)
    q = normal(int(cu[-1]), group * kv_heads, dim)
    return q, normal(slots, kv_heads, dim), normal(slots, kv_heads, dim), page_table, cu, cache_seqlens


request_lengths = st.tuples(st.integers(1, 6), st.integers(0, 8)).map(lambda t: (t[0], t[0] + t[1]))


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(request_lengths, min_size=1, max_size=5),
    seed=st.integers(0, 2**31),
    group=st.integers(1, 3),
    kv_heads=st.integers(1, 2),
    extra=st.integers(0, 2),
)
def test_any_batch(lengths: list[tuple[int, int]], seed: int, group: int, kv_heads: int, extra: int) -> None:
    arguments = inputs(lengths, seed, group, kv_heads, dim=8, extra=extra)
    copies = [a.clone() for a in arguments]
    result = paged_attention(*arguments, 8**-0.5)
    expected = naive_attention(*arguments, 8**-0.5).float()
    torch.testing.assert_close(result, expected, rtol=1e-5, atol=2e-6)
    assert all(torch.equal(a, b) for a, b in zip(arguments, copies, strict=True))


def test_chapter_example() -> None:
    """From scratch, behind a prefix and decoding, in one call."""
    arguments = inputs([(6, 6), (3, 7), (1, 9)], seed=0, group=2, kv_heads=2, dim=16)
    difference = paged_attention(*arguments, 0.25) - naive_attention(*arguments, 0.25)
    assert difference.abs().max() < 1e-6


@pytest.mark.parametrize(
    "lengths", [[(1, 1)], [(1, 4), (1, 9), (1, 1)], [(3, 3), (3, 7)], [(2, 5), (1, 4), (2, 2)]]
)
def test_equal_and_mixed_numbers_of_queries(lengths: list[tuple[int, int]]) -> None:
    arguments = inputs(lengths, seed=1, group=2, kv_heads=2, dim=16)
    expected = naive_attention(*arguments, 0.25).float()
    torch.testing.assert_close(paged_attention(*arguments, 0.25), expected, rtol=1e-5, atol=1e-6)


def test_another_request_with_nan_is_not_read() -> None:
    q, k, v, page_table, cu, lengths = inputs([(1, 2), (1, 5)], seed=2, group=1, kv_heads=1, dim=8)
    clean = paged_attention(q, k, v, page_table, cu, lengths, 1.0)
    k, v = k.clone(), v.clone()
    k[page_table[1, :5].long()] = float("nan")
    v[page_table[1, :5].long()] = float("nan")
    dirty = paged_attention(q, k, v, page_table, cu, lengths, 1.0)
    assert torch.equal(dirty[0], clean[0]) and dirty[1].isnan().all()


def test_half_precision() -> None:
    q, k, v, *rest = inputs([(2, 5), (1, 9)], seed=3, group=2, kv_heads=2, dim=16)
    q, k, v = q.bfloat16(), k.bfloat16(), v.bfloat16()
    result = paged_attention(q, k, v, *rest, 0.25)
    assert result.dtype == torch.bfloat16
    expected = naive_attention(q.float(), k.float(), v.float(), *rest, 0.25).float()
    torch.testing.assert_close(result.float(), expected, rtol=2e-2, atol=2e-2)


def lengths_only(cached_len: int, device_len: int) -> SimpleNamespace:
    return SimpleNamespace(extend_len=device_len - cached_len, cached_len=cached_len, device_len=device_len)


def test_metadata_of_the_chapter_example() -> None:
    cu, lengths, last = seqlen_metadata([lengths_only(0, 6), lengths_only(4, 7), lengths_only(8, 9)])
    assert (cu.tolist(), cu.dtype) == ([0, 6, 9, 10], torch.int32)
    assert (lengths.tolist(), lengths.dtype) == ([6, 7, 9], torch.int32)
    assert (last.tolist(), last.dtype) == ([5, 8, 9], torch.int64)


def test_metadata_refuses_a_request_without_tokens() -> None:
    with pytest.raises(ValueError, match="at least one token"):
        seqlen_metadata([lengths_only(0, 6), lengths_only(4, 4)])


def test_unknown_backend() -> None:
    pool = create_kv_cache(
        num_layers=1,
        num_kv_heads=1,
        head_dim=4,
        num_pages=2,
        page_size=1,
        dtype=torch.float32,
        device=torch.device("cpu"),
    )
    with pytest.raises(ValueError, match="'flash'"):
        create_attention_backend(
            "flash", kv_cache=pool, page_table=torch.zeros(1, 1), num_qo_heads=1, head_dim=4
        )
