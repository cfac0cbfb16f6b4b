"""Random numbers are the same wherever they are made."""

from __future__ import annotations

import torch

from minisgl.kernel import reference, triton


def test_equal_to_the_reference_bit_by_bit(device: torch.device) -> None:
    torch.manual_seed(0)
    states = torch.randint(-(2**63), 2**63 - 1, (50,), dtype=torch.int64)
    states[:4] = torch.tensor([0, -1, 2**63 - 1, -(2**63)])
    tables = torch.rand(50).to(device), states.to(device)
    rows, positions = torch.randint(0, 50, (33,)), torch.randint(0, 10**6, (33,))
    rows[:4] = torch.arange(4)
    index = rows.to(device), positions.to(device)
    for got, want in zip(
        triton.gather_sampling(*tables, *index), reference.gather_sampling(*tables, *index), strict=True
    ):
        assert torch.equal(got, want) and got.dtype == want.dtype
