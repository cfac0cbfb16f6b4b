"""Looking up rows of a table.

Why: it opens the chain of a decode step's kernels, so that the next one is let in as soon as it has started.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...utils import cdiv
from .common import has_pdl, next_power_of_2, release_next, wait_for_inputs


@triton.jit(do_not_specialize_on_alignment=["ids"])
def indexing_kernel(weights, ids, out, size, BLOCK: tl.constexpr, PDL: tl.constexpr):
    """Program (i, j) copies block j of row ids[i]."""
    wait_for_inputs(PDL)
    release_next(PDL)
    i = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    row = tl.load(ids + i).to(tl.int64)
    tl.store(out + i * size + offsets, tl.load(weights + row * size + offsets, mask=mask), mask=mask)


def indexing(weights: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    assert weights.is_contiguous()
    size = weights.shape[1]
    out = weights.new_empty(len(ids), size)
    if out.numel() == 0:
        return out
    block = min(next_power_of_2(size), 1024)
    pdl = has_pdl(weights)
    grid = (len(ids), cdiv(size, block))
    indexing_kernel[grid](weights, ids, out, size, BLOCK=block, PDL=pdl, launch_pdl=pdl)
    return out
