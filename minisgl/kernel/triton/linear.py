"""Products of a few tokens with a matrix, with what stands before and after them.

Why: with few tokens a product reads the matrix and does next to no arithmetic, so that norm, gate and
addition are free if they ride along, and cost a launch each if they do not. Both kernels ask for the matrix
before they wait for the kernel in front, so that the memory works through the change of kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from .activation import silu
from .common import has_pdl, prefetch_rows, release_next, wait_for_inputs


@dataclass(frozen=True)
class VectorConfig:
    """Up to 4 tokens: a program holds its rows of the matrix in registers."""

    tile: int = 8192  # weights a program; twice as many where there are gates
    warps: int = 4


@dataclass(frozen=True)
class TileConfig:
    """More tokens: a program multiplies blocks on tensor cores."""

    block_n: int = 32  # output features a program
    block_k: int = 128  # input features at a time
    warps: int = 4
    stages: int = 4


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


@triton.jit(do_not_specialize=["tokens"])
def tile_kernel(
    x,
    norm_weight,
    eps,
    weight,
    bias,
    residual,
    out,
    tokens,
    in_size,
    out_size,
    GATED: tl.constexpr,
    BLOCK_T: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    IN_BLOCKS: tl.constexpr,
    STAGES: tl.constexpr,
    PDL: tl.constexpr,
):
    """The same for up to BLOCK_T tokens."""
    release_next(PDL)
    t, k = tl.arange(0, BLOCK_T), tl.arange(0, BLOCK_K)
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    is_token, in_block = t < tokens, n < out_size
    first = weight + tl.program_id(0).to(tl.int64) * BLOCK_N * in_size
    prefetch_rows(first, in_size, out_size - tl.program_id(0) * BLOCK_N, BLOCK_N, BLOCK_K * IN_BLOCKS, PDL)
    if GATED:
        half = tl.cast(out_size, tl.int64) * in_size
        prefetch_rows(
            first + half, in_size, out_size - tl.program_id(0) * BLOCK_N, BLOCK_N, BLOCK_K * IN_BLOCKS, PDL
        )
    wait_for_inputs(PDL)
    x_tile = x + t[:, None] * in_size + k[None, :]
    w_tile = weight + n.to(tl.int64)[None, :] * in_size + k[:, None]
    y = tl.zeros([BLOCK_T, BLOCK_N], tl.float32)
    up = tl.zeros([BLOCK_T, BLOCK_N], tl.float32)
    squares = tl.zeros([BLOCK_T], tl.float32)
    for start in tl.range(0, in_size, BLOCK_K, num_stages=STAGES):
        in_row = start + k < in_size
        values = tl.load(x_tile + start, mask=is_token[:, None] & in_row[None, :], other=0.0)
        mask = in_row[:, None] & in_block[None, :]
        w = tl.load(w_tile + start, mask=mask, other=0.0)
        if norm_weight is not None:
            wide = values.to(tl.float32)
            squares += tl.sum(wide * wide, axis=1)
            factors = tl.load(norm_weight + start + k, mask=in_row, other=0.0).to(tl.float32)
            values = (wide * factors[None, :]).to(values.dtype)
        y = tl.dot(values, w, y, input_precision="ieee")
        if GATED:
            w_up = tl.load(w_tile + half + start, mask=mask, other=0.0)
            up = tl.dot(values, w_up, up, input_precision="ieee")
    if norm_weight is not None:
        scale = 1.0 / tl.sqrt(squares / in_size + eps)[:, None]
        y, up = y * scale, up * scale
    if GATED:
        y = silu(y) * up
    at = t[:, None] * out_size + n[None, :]
    mask = is_token[:, None] & in_block[None, :]
    if bias is not None:
        y += tl.load(bias + n, mask=in_block, other=0.0).to(tl.float32)[None, :]
    if residual is not None:
        y += tl.load(residual + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + at, y, mask=mask)


def _launch(
    x: torch.Tensor,
    weight: torch.Tensor,
    *,
    norm_weight: torch.Tensor | None = None,
    eps: float = 0.0,
    bias: torch.Tensor | None = None,
    residual: torch.Tensor | None = None,
    gated: bool = False,
    config: VectorConfig | TileConfig | None = None,
) -> torch.Tensor:
    assert weight.is_contiguous()
    x = x.contiguous()
    tokens, in_size = x.shape
    out_size = len(weight) // 2 if gated else len(weight)
    out = x.new_empty(tokens, out_size)
    if tokens == 0:
        return out
    config = config or choose_config(tokens, out_size)
    residual = None if residual is None else residual.contiguous()
    arguments = (x, norm_weight, eps, weight, bias, residual, out)
    pdl = has_pdl(x)
    if isinstance(config, VectorConfig):
        block_k = triton.next_power_of_2(in_size)
        block_n = max(config.tile // block_k, 1)
        vector_kernel[(triton.cdiv(out_size, block_n),)](
            *arguments,
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
    block_k = min(config.block_k, max(triton.next_power_of_2(in_size), 16))
    tile_kernel[(triton.cdiv(out_size, config.block_n),)](
        *arguments,
        tokens,
        in_size,
        out_size,
        GATED=gated,
        BLOCK_T=max(triton.next_power_of_2(tokens), 16),
        BLOCK_N=config.block_n,
        BLOCK_K=block_k,
        IN_BLOCKS=triton.next_power_of_2(triton.cdiv(in_size, block_k)),
        STAGES=config.stages,
        PDL=pdl,
        num_warps=config.warps,
        launch_pdl=pdl,
    )
    return out


def choose_config(tokens: int, out_size: int) -> VectorConfig | TileConfig:
    """The narrower a product's output, the narrower the blocks: every processor should have one."""
    if tokens <= 4:
        return VectorConfig()
    return TileConfig(block_n=16 if out_size <= 2048 else 32 if out_size <= 1 << 14 else 64)


def norm_linear(
    x: torch.Tensor,
    norm_weight: torch.Tensor,
    eps: float,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    config: VectorConfig | TileConfig | None = None,
) -> torch.Tensor:
    return _launch(x, weight, norm_weight=norm_weight, eps=eps, bias=bias, config=config)


def norm_gate_up(
    x: torch.Tensor,
    norm_weight: torch.Tensor,
    eps: float,
    weight: torch.Tensor,
    config: VectorConfig | TileConfig | None = None,
) -> torch.Tensor:
    return _launch(x, weight, norm_weight=norm_weight, eps=eps, gated=True, config=config)


def linear_add(
    x: torch.Tensor,
    weight: torch.Tensor,
    residual: torch.Tensor,
    config: VectorConfig | TileConfig | None = None,
) -> torch.Tensor:
    return _launch(x, weight, residual=residual, config=config)
