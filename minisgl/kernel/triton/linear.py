"""Products of a few tokens with a matrix, with what stands before and after them.

Why: with few tokens a product reads the matrix and does next to no arithmetic, so that norm, gate and
addition are free if they ride along, and cost a launch each if they do not. A program asks for its part of
the matrix before it waits for the kernel in front, so the memory works through the change of kernels.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .activation import silu
from .common import has_pdl, release_next, wait_for_inputs

_TILE = 8192  # weights of one program: 16 KB in bfloat16, held in registers


@triton.jit
def input_row(x, norm_weight, eps, in_size, BLOCK_K: tl.constexpr):
    """A token's vector in float32, times the norm's weight if there is one; and the factor that is left."""
    k = tl.arange(0, BLOCK_K)
    values = tl.load(x + k, mask=k < in_size, other=0.0).to(tl.float32)
    scale = 1.0
    if norm_weight is not None:
        scale = 1.0 / tl.sqrt(tl.sum(values * values, axis=0) / in_size + eps)
        values *= tl.load(norm_weight + k, mask=k < in_size, other=0.0).to(tl.float32)
    return values, scale


@triton.jit
def linear_kernel(
    x,
    norm_weight,
    eps,
    weight,
    bias,
    residual,
    out,
    in_size,
    out_size,
    TOKENS: tl.constexpr,
    GATED: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PDL: tl.constexpr,
):
    """Program j computes block j of the output features for every token.

    With GATED the matrix has a gate above the features themselves, and the result is silu(gate) * feature.
    """
    release_next(PDL)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    in_block = n < out_size
    mask = in_block[:, None] & (k < in_size)[None, :]
    tile = weight + n.to(tl.int64)[:, None] * in_size + k[None, :]
    w = tl.load(tile, mask=mask, other=0.0)
    if GATED:
        up = tl.load(tile + out_size.to(tl.int64) * in_size, mask=mask, other=0.0)
    wait_for_inputs(PDL)
    for t in tl.static_range(TOKENS):
        values, scale = input_row(x + t * in_size, norm_weight, eps, in_size, BLOCK_K)
        y = tl.sum(w.to(tl.float32) * values[None, :], axis=1) * scale
        if GATED:
            y = silu(y) * (tl.sum(up.to(tl.float32) * values[None, :], axis=1) * scale)
        if bias is not None:
            y += tl.load(bias + n, mask=in_block, other=0.0).to(tl.float32)
        if residual is not None:
            y += tl.load(residual + t * out_size + n, mask=in_block, other=0.0).to(tl.float32)
        tl.store(out + t * out_size + n, y, mask=in_block)


def _launch(
    x: torch.Tensor,
    weight: torch.Tensor,
    *,
    norm_weight: torch.Tensor | None = None,
    eps: float = 0.0,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    gated: bool = False,
    tile: int = _TILE,
) -> torch.Tensor:
    assert weight.is_contiguous()
    x = x.contiguous()
    tokens, in_size = x.shape
    out_size = len(weight) // 2 if gated else len(weight)
    out = x.new_empty(tokens, out_size)
    if tokens == 0:
        return out
    block_k = triton.next_power_of_2(in_size)
    block_n = max(tile // block_k, 1)
    pdl = has_pdl(x)
    linear_kernel[(triton.cdiv(out_size, block_n),)](
        x,
        norm_weight,
        eps,
        weight,
        bias,
        None if residual is None else residual.contiguous(),
        out,
        in_size,
        out_size,
        TOKENS=tokens,
        GATED=gated,
        BLOCK_N=block_n,
        BLOCK_K=block_k,
        PDL=pdl,
        num_warps=4,
        launch_pdl=pdl,
    )
    return out


def norm_linear(
    x: torch.Tensor,
    norm_weight: torch.Tensor,
    eps: float,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    return _launch(x, weight, norm_weight=norm_weight, eps=eps, bias=bias)


def norm_gate_up(
    x: torch.Tensor, norm_weight: torch.Tensor, eps: float, weight: torch.Tensor
) -> torch.Tensor:
    return _launch(x, weight, norm_weight=norm_weight, eps=eps, gated=True)


def linear_add(x: torch.Tensor, weight: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return _launch(x, weight, residual=residual)
