"""Products of a few tokens with a matrix, with what stands before and after them.

Why: with few tokens a product reads the matrix and does next to no arithmetic, so that norm, gate and
addition are free if they ride along, and cost a launch each if they do not. The kernel asks for the matrix
before it waits for the kernel in front, so that the memory works through the change of kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from ...utils import cdiv
from .activation import silu
from .common import has_pdl, next_power_of_2, release_next, wait_for_inputs

MAX_TOKENS = 8


@dataclass(frozen=True)
class VectorConfig:
    """How the work is cut. A program holds its rows of the matrix in registers."""

    tile: int = 8192  # weights a program; twice as many where there are gates
    warps: int = 4


@triton.jit
def vector_kernel(
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

    With GATED the matrix has a gate for each feature above the features themselves, and the result is
    silu(gate) * feature.
    """
    release_next(PDL)
    n, k = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N), tl.arange(0, BLOCK_K)
    in_block, in_row = n < out_size, k < in_size
    mask = in_block[:, None] & in_row[None, :]
    tile = weight + n.to(tl.int64)[:, None] * in_size + k[None, :]
    w = tl.load(tile, mask=mask, other=0.0)
    if GATED:
        up = tl.load(tile + tl.cast(out_size, tl.int64) * in_size, mask=mask, other=0.0)
    if norm_weight is not None:
        factors = tl.load(norm_weight + k, mask=in_row, other=0.0).to(tl.float32)
    if bias is not None:
        added = tl.load(bias + n, mask=in_block, other=0.0).to(tl.float32)
    wait_for_inputs(PDL)
    rows, sums = (), ()  # everything is asked for before anything is used
    for t in tl.static_range(TOKENS):
        rows += (tl.load(x + t * in_size + k, mask=in_row, other=0.0),)  # type: ignore[assignment]
        if residual is not None:
            added_row = tl.load(residual + t * out_size + n, mask=in_block, other=0.0)
            sums += (added_row,)  # type: ignore[assignment]
    for t in tl.static_range(TOKENS):
        values = rows[t].to(tl.float32)  # type: ignore[var-annotated]
        scale = 1.0
        if norm_weight is not None:
            scale = 1.0 / tl.sqrt(tl.sum(values * values, axis=0) / in_size + eps)
            values *= factors
        y = tl.sum(w.to(tl.float32) * values[None, :], axis=1) * scale
        if GATED:
            y = silu(y) * (tl.sum(up.to(tl.float32) * values[None, :], axis=1) * scale)
        if bias is not None:
            y += added
        if residual is not None:
            y += sums[t].to(tl.float32)
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
    config: VectorConfig | None = None,
) -> torch.Tensor:
    assert weight.is_contiguous()
    x = x.contiguous()
    tokens, in_size = x.shape
    assert tokens <= MAX_TOKENS, f"{tokens} tokens would not fit into registers"
    out_size = len(weight) // 2 if gated else len(weight)
    out = x.new_empty(tokens, out_size)
    if tokens == 0:
        return out
    config = config or choose_config(tokens, in_size, gated)
    block_k = next_power_of_2(in_size)
    block_n = max(config.tile // block_k, 1)
    pdl = has_pdl(x)
    vector_kernel[(cdiv(out_size, block_n),)](
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
        num_warps=config.warps,
        launch_pdl=pdl,
    )
    return out


def choose_config(tokens: int, in_size: int, gated: bool) -> VectorConfig:
    """What made a whole step fastest on an H200. A kernel's own time says little: what it needs of registers
    decides how early the kernels behind it can ask for their matrices.
    """
    block_k = next_power_of_2(in_size)
    if gated:
        return VectorConfig(tile=2 * block_k, warps=min(max(block_k // 1024, 1), 16))
    if block_k <= 1024:
        return VectorConfig(tile=4096, warps=1)
    if tokens == 1:
        return VectorConfig(tile=2 * block_k, warps=min(block_k // 512, 16))
    return VectorConfig(tile=4 * block_k, warps=min(block_k // 1024, 16))


def norm_linear(
    x: torch.Tensor,
    norm_weight: torch.Tensor,
    eps: float,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    config: VectorConfig | None = None,
) -> torch.Tensor:
    return _launch(x, weight, norm_weight=norm_weight, eps=eps, bias=bias, config=config)


def norm_gate_up(
    x: torch.Tensor,
    norm_weight: torch.Tensor,
    eps: float,
    weight: torch.Tensor,
    config: VectorConfig | None = None,
) -> torch.Tensor:
    return _launch(x, weight, norm_weight=norm_weight, eps=eps, gated=True, config=config)


def linear_add(
    x: torch.Tensor,
    weight: torch.Tensor,
    residual: torch.Tensor,
    config: VectorConfig | None = None,
) -> torch.Tensor:
    return _launch(x, weight, residual=residual, config=config)
