"""Random numbers are the same wherever they are made."""

from __future__ import annotations

import pytest
import torch

from minisgl.kernel import reference, triton
from minisgl.kernel.triton.uniforms import gather_sampling_kernel


@pytest.mark.parametrize("n", [33, 256, 600])
def test_equal_to_the_reference_bit_by_bit(n: int, device: torch.device) -> None:
    torch.manual_seed(0)
    states = torch.randint(-(2**63), 2**63 - 1, (50,), dtype=torch.int64)
    states[:4] = torch.tensor([0, -1, 2**63 - 1, -(2**63)])
    tables = torch.rand(50).to(device), states.to(device)
    rows, positions = torch.randint(0, 50, (n,)), torch.randint(0, 10**6, (n,))
    rows[:4] = torch.arange(4)
    index = rows.to(device), positions.to(device)
    for got, want in zip(
        triton.gather_sampling(*tables, *index), reference.gather_sampling(*tables, *index), strict=True
    ):
        assert torch.equal(got, want) and got.dtype == want.dtype


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_one_compiled_kernel_serves_all_batches() -> None:
    """Whatever the size, and wherever in a longer tensor rows and positions lie: compiling stalls a step."""
    tables = torch.rand(50, device="cuda"), torch.zeros(50, dtype=torch.int64, device="cuda")
    index = torch.zeros(1000, dtype=torch.int64, device="cuda")

    def compiled() -> int:
        caches = gather_sampling_kernel.device_caches[torch.cuda.current_device()]
        return len(caches[0])

    triton.gather_sampling(*tables, index[:1], index[1:2])
    before = compiled()
    for n in (1, 2, 3, 16, 100, 300):
        for start in (0, 1, 2, 4):
            triton.gather_sampling(*tables, index[start : start + n], index[301 + start : 301 + start + n])
    assert compiled() == before
