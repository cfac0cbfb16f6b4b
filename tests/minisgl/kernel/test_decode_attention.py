"""Decode attention: equal to the reference for every cut of the work, and nothing read that nobody wrote."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.kernel import reference
from minisgl.kernel.triton import attention
from minisgl.kernel.triton.attention import DecodeConfig, choose_config
from minisgl.layers.rotary import inverse_frequencies, make_cos_sin

CONFIGS = st.builds(
    DecodeConfig,
    block=st.sampled_from([16, 32, 64]),
    splits=st.sampled_from([1, 2, 8]),
    min_chunk=st.sampled_from([1, 32, 256]),
    stages=st.sampled_from([1, 3]),
)
few = settings(max_examples=10, deadline=None, derandomize=True)


def precision(half: bool, device: torch.device) -> torch.dtype:
    """The interpreter multiplies bfloat16 as if it were integers."""
    if not half:
        return torch.float32
    return torch.bfloat16 if device.type == "cuda" else torch.float16


class Pool:
    """Requests whose keys and values lie in random places; everything else is NaN, or far out of range."""

    def __init__(
        self, lengths: list[int], heads: int, size: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        torch.manual_seed(sum(lengths))
        slots = sum(lengths) + 5
        free = random.Random(0).sample(range(slots), slots)
        table = torch.full((len(lengths) + 2, max(lengths, default=1) + 3), 2**30, dtype=torch.int32)
        self.rows = torch.randperm(len(lengths) + 2)[: len(lengths)].int()
        kv = torch.full((2, slots, heads, size), float("nan"))
        for row, length in zip(self.rows.tolist(), lengths, strict=True):
            loc = torch.tensor([free.pop() for _ in range(length)])
            table[row, :length] = loc.int()
            kv[:, loc] = torch.randn(2, length, heads, size)
        self.table, self.rows = table.to(device), self.rows.to(device)
        self.kv = kv.to(device, dtype)
        self.lengths = torch.tensor(lengths, dtype=torch.int32, device=device)

    @property
    def index(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return self.table, self.rows, self.lengths


def close(actual: torch.Tensor, expected: torch.Tensor) -> None:
    rtol, atol = (1e-4, 1e-5) if expected.dtype == torch.float32 else (2e-2, 2e-2)
    torch.testing.assert_close(actual, expected, rtol=rtol, atol=atol)


@few
@given(
    lengths=st.lists(st.integers(1, 60), max_size=4),
    group=st.integers(1, 3),
    heads=st.integers(1, 2),
    size=st.sampled_from([16, 24, 64]),
    half=st.booleans(),
    config=CONFIGS,
)
def test_equal_to_the_reference(
    device: torch.device,
    lengths: list[int],
    group: int,
    heads: int,
    size: int,
    half: bool,
    config: DecodeConfig,
) -> None:
    dtype = precision(half, device)
    pool = Pool(lengths, heads, size, dtype, device)
    q = torch.randn(len(lengths), heads * group, size, device=device).to(dtype)
    arguments = (q, *pool.kv, *pool.index, size**-0.5)
    close(attention.decode_attention(*arguments, config=config), reference.decode_attention(*arguments))


@few
@given(
    lengths=st.lists(st.integers(1, 60), min_size=1, max_size=3),
    group=st.integers(1, 3),
    size=st.sampled_from([16, 24]),
    half=st.booleans(),
    normed=st.booleans(),
    config=CONFIGS,
)
def test_fused_with_what_comes_before(
    device: torch.device,
    lengths: list[int],
    group: int,
    size: int,
    half: bool,
    normed: bool,
    config: DecodeConfig,
) -> None:
    heads, dtype = 2, precision(half, device)
    pool = Pool(lengths, heads, size, dtype, device)
    for row, length in zip(pool.rows.tolist(), lengths, strict=True):
        pool.kv[:, pool.table[row, length - 1].item()] = float("nan")  # the new token is not there yet
    expected_kv = pool.kv.clone()
    qkv = torch.randn(len(lengths), (group + 2) * heads * size, device=device).to(dtype)
    weights = [torch.rand(size, device=device).to(dtype) if normed else None for _ in "qk"]
    table = make_cos_sin(inverse_frequencies(size, 100.0), 128).to(device)
    fixed = (qkv, *weights, 1e-6, table)
    rest = (*pool.index, size**-0.5, group * heads, heads)
    out = attention.fused_decode_attention(*fixed, *pool.kv, *rest, config=config)
    close(out, reference.fused_decode_attention(*fixed, *expected_kv, *rest))
    torch.testing.assert_close(pool.kv, expected_kv, rtol=1e-2, atol=1e-2, equal_nan=True)


def test_a_second_launch_finds_the_counters_at_zero(device: torch.device) -> None:
    torch.manual_seed(0)
    pool = Pool([70, 3, 50], 2, 16, torch.float32, device)
    q = torch.randn(3, 4, 16, device=device)
    config = DecodeConfig(block=16, splits=4, min_chunk=16)
    first, second = (
        attention.decode_attention(q, *pool.kv, *pool.index, 0.25, config=config) for _ in range(2)
    )
    assert torch.equal(first, second), "merging in another order than the splits' would show in the bits"


@pytest.mark.parametrize("group", [3])
def test_more_parts_than_are_merged_at_a_time(device: torch.device, group: int) -> None:
    """64 parts of one request, of one, and of a few."""
    torch.manual_seed(0)
    pool = Pool([64 * 16 - 5, 16, 16 * 13 + 1], 1, 16, torch.float32, device)
    q = torch.randn(3, group, 16, device=device)
    arguments = (q, *pool.kv, *pool.index, 0.25)
    config = DecodeConfig(block=16, splits=64, min_chunk=16, warps=1, stages=1)
    close(attention.decode_attention(*arguments, config=config), reference.decode_attention(*arguments))


def test_scores_that_overflow_without_the_maximum(device: torch.device) -> None:
    torch.manual_seed(0)
    pool = Pool([40], 1, 16, torch.float32, device)
    q = torch.randn(1, 1, 16, device=device) * 500
    arguments = (q, *pool.kv, *pool.index, 1.0)
    config = DecodeConfig(block=16, splits=2, min_chunk=16)
    close(attention.decode_attention(*arguments, config=config), reference.decode_attention(*arguments))


@pytest.mark.parametrize("batch", [1, 2, 4, 16, 64, 256, 1000])
@pytest.mark.parametrize("heads", [1, 8])
@pytest.mark.parametrize("group", [1, 2, 7, 64])
@pytest.mark.parametrize("fused", [True, False])
def test_chosen_configurations_are_launchable(batch: int, heads: int, group: int, fused: bool) -> None:
    config = choose_config(batch, heads, group, fused, 132)
    for value in (config.block, config.splits, config.warps):
        assert value & (value - 1) == 0
    assert config.block >= 16 and config.splits <= 64
