"""Balanced decode attention: equal to the reference however the requests fall into the shares."""

from __future__ import annotations

import pytest
import torch

from minisgl.kernel import reference, triton
from minisgl.kernel.triton import balanced
from minisgl.kernel.triton.balanced import BalancedConfig

CASES = [  # lengths; programs a processor, least blocks a share
    ([5, 17, 1, 33, 9], 1, 1),
    ([1], 1, 1),  # one share, and nothing in the pool
    ([60, 1, 1, 50], 4, 1),  # several shares a request, several requests a share
    ([3, 3, 3], 4, 4),  # all in one share
    ([40, 20, 16, 32, 48, 1], 2, 2),
    ([16, 32, 48], 2, 1),  # shares that end where requests do
    ([33, 17, 65], 4, 1),  # a last block of one token
]


class Pool:
    """Requests scattered over a pool that is NaN elsewhere; past its length a row leads far out."""

    def __init__(self, lengths: list[int], heads: int, size: int, device: torch.device) -> None:
        torch.manual_seed(sum(lengths))
        scattered = torch.randperm(sum(lengths) + 3)
        table = torch.full((len(lengths) + 2, max(lengths) + 3), 2**30, dtype=torch.int32)
        self.rows = torch.randperm(len(lengths) + 2)[: len(lengths)].int().to(device)
        kv = torch.full((2, len(scattered), heads, size), float("nan"))
        used = 0
        for row, length in zip(self.rows.tolist(), lengths, strict=True):
            table[row, :length] = scattered[used : used + length].int()
            kv[:, scattered[used : used + length]] = torch.randn(2, length, heads, size)
            used += length
        self.table, self.kv = table.to(device), kv.to(device)
        self.lengths = torch.tensor(lengths, dtype=torch.int32, device=device)


@pytest.mark.parametrize(("lengths", "programs", "min_blocks"), CASES)
@pytest.mark.parametrize("group", [3])
def test_equal_to_the_reference(
    device: torch.device, lengths: list[int], programs: int, min_blocks: int, group: int
) -> None:
    pool = Pool(lengths, 2, 16, device)
    q = torch.randn(len(lengths), 2 * group, 16, device=device)
    config = BalancedConfig(block=16, programs=programs, min_blocks=min_blocks)
    index = (pool.table, pool.rows, pool.lengths)
    expected = reference.decode_attention(q, *pool.kv, *index, 0.25)
    for _ in range(2):  # the counters are as they were
        out = balanced.decode_attention(q, *pool.kv, *index, 0.25, config=config)
        torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("requests", [1, 40])
def test_chosen_by_the_number_of_requests(device: torch.device, requests: int) -> None:
    pool = Pool([1 + i % 5 for i in range(requests)], 2, 16, device)
    q = torch.randn(requests, 4, 16, device=device)
    index = (pool.table, pool.rows, pool.lengths)
    out = triton.decode_attention(q, *pool.kv, *index, 0.25)
    expected = reference.decode_attention(q, *pool.kv, *index, 0.25)
    torch.testing.assert_close(out, expected, rtol=1e-4, atol=1e-5)
