"""What a decode step reads of the page table.

Why: it is an addition, two conversions and an indexed read on a handful of numbers, in torch a launch each,
and the CPU's time for launches is what bounds small batches.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...utils import cdiv


@triton.jit(do_not_specialize=["n"])  # a batch of another size must not wait for a compiler
def decode_inputs_kernel(indices, page_table, out, n, table_width, BLOCK: tl.constexpr):
    """Program j does block j of the requests."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    row, position = tl.load(indices + i, mask=mask, other=0), tl.load(indices + n + i, mask=mask, other=0)
    tl.store(out + i, row, mask=mask)
    tl.store(out + n + i, position + 1, mask=mask)
    tl.store(out + 2 * n + i, position, mask=mask)
    tl.store(out + 3 * n + i, tl.load(page_table + row * table_width + position, mask=mask), mask=mask)


def decode_inputs(indices: torch.Tensor, page_table: torch.Tensor) -> torch.Tensor:
    assert indices.is_contiguous() and page_table.stride(1) == 1
    n = indices.shape[1]
    out = torch.empty(4, n, dtype=torch.int32, device=indices.device)
    if n:
        decode_inputs_kernel[(cdiv(n, 256),)](
            indices, page_table, out, n, page_table.stride(0), BLOCK=256, num_warps=2
        )
    return out
