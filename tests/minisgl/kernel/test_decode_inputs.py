"""Rows, lengths, positions and locations of a decode step."""

from __future__ import annotations

import pytest
import torch

from minisgl.kernel import reference, triton


@pytest.mark.parametrize("requests", [0, 1, 5, 300])
def test_equal_to_the_reference(device: torch.device, requests: int) -> None:
    torch.manual_seed(requests)
    table = torch.randint(2**31, (12, 9), dtype=torch.int32).to(device)
    indices = torch.stack((torch.randint(12, (requests,)), torch.randint(9, (requests,)))).to(device)
    out = triton.decode_inputs(indices, table)
    assert torch.equal(out, reference.decode_inputs(indices, table)) and out.dtype == torch.int32
