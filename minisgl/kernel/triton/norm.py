"""Root mean square normalization, alone and behind an addition.

Why: torch reads and writes the rows three times (sum, norm, weight); here each element is moved once.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .common import has_pdl, next_power_of_2, release_next, wait_for_inputs, warps_for


@triton.jit
def norm_row(x, weight, mask, size, eps):
    """A row of float32, zero where masked, normalized and weighted; `weight` points at `size` elements."""
    offsets = tl.arange(0, x.shape[0])
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / size + eps)
    return x * scale * tl.load(weight + offsets, mask=mask, other=0.0).to(tl.float32)


@triton.jit
def rms_norm_kernel(x, weight, out, size, eps, BLOCK: tl.constexpr, PDL: tl.constexpr):
    """Program i normalizes row i."""
    wait_for_inputs(PDL)
    release_next(PDL)
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * size + offsets
    mask = offsets < size
    values = tl.load(x + row, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + row, norm_row(values, weight, mask, size, eps), mask=mask)


@triton.jit
def add_rms_norm_kernel(x, residual, weight, out, total, size, eps, BLOCK: tl.constexpr, PDL: tl.constexpr):
    """Program i adds row i of x and residual, and normalizes the sum as it is stored: rounded."""
    wait_for_inputs(PDL)
    release_next(PDL)
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0).to(tl.int64) * size + offsets
    mask = offsets < size
    left = tl.load(x + row, mask=mask, other=0.0).to(tl.float32)
    right = tl.load(residual + row, mask=mask, other=0.0).to(tl.float32)
    values = (left + right).to(total.dtype.element_ty)
    tl.store(total + row, values, mask=mask)
    tl.store(out + row, norm_row(values.to(tl.float32), weight, mask, size, eps), mask=mask)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    if x.numel() == 0:
        return out
    size, pdl = x.shape[-1], has_pdl(x)
    block = next_power_of_2(size)
    rms_norm_kernel[(x.numel() // size,)](
        x, weight, out, size, eps, BLOCK=block, PDL=pdl, num_warps=warps_for(block), launch_pdl=pdl
    )
    return out


def fused_add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    x, residual = x.contiguous(), residual.contiguous()
    out, total = torch.empty_like(x), torch.empty_like(x)
    if x.numel() == 0:
        return out, total
    size, pdl = x.shape[-1], has_pdl(x)
    block = next_power_of_2(size)
    add_rms_norm_kernel[(x.numel() // size,)](
        x,
        residual,
        weight,
        out,
        total,
        size,
        eps,
        BLOCK=block,
        PDL=pdl,
        num_warps=warps_for(block),
        launch_pdl=pdl,
    )
    return out, total
