"""The gate of the feed-forward network.

Why: torch takes two launches, and writes silu(gate) out only to read it again.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...utils import cdiv
from .common import has_pdl, next_power_of_2, release_next, wait_for_inputs


@triton.jit
def silu(x):
    return x / (1.0 + tl.exp(-x))


@triton.jit
def silu_and_mul_kernel(x, out, size, BLOCK: tl.constexpr, PDL: tl.constexpr):
    """Program (i, j) computes block j of row i."""
    wait_for_inputs(PDL)
    release_next(PDL)
    i = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    gate = tl.load(x + 2 * i * size + offsets, mask=mask).to(tl.float32)
    up = tl.load(x + (2 * i + 1) * size + offsets, mask=mask).to(tl.float32)
    dtype = out.dtype.element_ty
    tl.store(out + i * size + offsets, silu(gate).to(dtype).to(tl.float32) * up, mask=mask)


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    size = x.shape[-1] // 2
    out = x.new_empty(*x.shape[:-1], size)
    if out.numel() == 0:
        return out
    block = min(next_power_of_2(size), 1024)
    pdl = has_pdl(x)
    grid = (out.numel() // size, cdiv(size, block))
    silu_and_mul_kernel[grid](x, out, size, BLOCK=block, PDL=pdl, num_warps=4, launch_pdl=pdl)
    return out
