"""Writing keys and values into the pool.

Why: `index_copy_` takes one launch for keys and one for values; the bytes themselves take less than a launch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .common import next_power_of_2


@triton.jit(do_not_specialize_on_alignment=["loc"])
def store_kernel(k, v, loc, k_cache, v_cache, row, BLOCK: tl.constexpr):
    """Program i copies row i of k and of v, `row` elements each, to row loc[i] of the caches."""
    i = tl.program_id(0).to(tl.int64)
    source = i * row
    target = tl.load(loc + i).to(tl.int64) * row  # a pool has more elements than int32 can count
    for start in range(0, row, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < row
        tl.store(k_cache + target + offsets, tl.load(k + source + offsets, mask=mask), mask=mask)
        tl.store(v_cache + target + offsets, tl.load(v + source + offsets, mask=mask), mask=mask)


def store_cache(
    k: torch.Tensor, v: torch.Tensor, loc: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor
) -> None:
    if len(k) == 0:
        return
    assert k_cache.is_contiguous() and v_cache.is_contiguous()
    k, v = k.contiguous(), v.contiguous()
    row = k[0].numel()
    block = min(next_power_of_2(row), 1024)
    store_kernel[(len(k),)](k, v, loc, k_cache, v_cache, row, BLOCK=block)
