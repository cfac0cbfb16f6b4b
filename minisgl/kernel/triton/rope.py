"""Norms of heads, rotation, and storing keys and values.

Why: in torch these are about twelve launches between the QKV product and attention, and QK-norm alone is 6%
of the official engine's GPU time.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from .common import has_pdl, next_power_of_2, release_next, wait_for_inputs, warps_for


@triton.jit
def rotated_heads(
    x, weight, eps, cos_sin, position, heads, D: tl.constexpr, BLOCK_H: tl.constexpr, BLOCK_D: tl.constexpr
):
    """Heads [BLOCK_H, BLOCK_D] of one token, normalized if there is a weight, and rotated; float32.

    Dimension i turns with i + D / 2. Reading the row a second time with its halves swapped spares moving
    them between threads, and the second reading comes from the cache.

    Args:
        x: pointer to the first head, heads side by side.
        weight: pointer to [D], or None.
        cos_sin: pointer to a table with D columns; `position` is the token's row in it.
    """
    HALF: tl.constexpr = D // 2
    head, dim = tl.arange(0, BLOCK_H)[:, None], tl.arange(0, BLOCK_D)[None, :]
    first = dim < HALF
    partner = tl.where(first, dim + HALF, dim - HALF)
    mask = (head < heads) & (dim < D)
    a = tl.load(x + head * D + dim, mask=mask, other=0.0)
    b = tl.load(x + head * D + partner, mask=mask, other=0.0)
    dtype = a.dtype
    a, b = a.to(tl.float32), b.to(tl.float32)
    if weight is not None:
        scale = 1.0 / tl.sqrt(tl.sum(a * a, axis=1) / D + eps)[:, None]
        a = a * scale * tl.load(weight + dim, mask=dim < D, other=0.0).to(tl.float32)
        b = b * scale * tl.load(weight + partner, mask=dim < D, other=0.0).to(tl.float32)
        a, b = a.to(dtype).to(tl.float32), b.to(dtype).to(tl.float32)  # as if it had been stored between
    angle = cos_sin + position.to(tl.int64) * D + tl.where(first, dim, dim - HALF)
    cos = tl.load(angle, mask=dim < D, other=0.0)
    sin = tl.load(angle + HALF, mask=dim < D, other=0.0)
    return a * cos + tl.where(first, -b, b) * sin


@triton.jit(do_not_specialize_on_alignment=["positions"])
def rope_kernel(
    x,
    positions,
    cos_sin,
    out,
    heads,
    D: tl.constexpr,
    BLOCK_H: tl.constexpr,
    BLOCK_D: tl.constexpr,
    PDL: tl.constexpr,
):
    """Program i rotates all heads of token i."""
    wait_for_inputs(PDL)
    release_next(PDL)
    i = tl.program_id(0).to(tl.int64)
    head, dim = tl.arange(0, BLOCK_H)[:, None], tl.arange(0, BLOCK_D)[None, :]
    start = i * heads * D
    values = rotated_heads(x + start, None, 0.0, cos_sin, tl.load(positions + i), heads, D, BLOCK_H, BLOCK_D)
    tl.store(out + start + head * D + dim, values, mask=(head < heads) & (dim < D))


@triton.jit(do_not_specialize_on_alignment=["positions", "loc"])
def qk_norm_rope_store_kernel(
    qkv,
    q_weight,
    k_weight,
    eps,
    cos_sin,
    positions,
    loc,
    k_cache,
    v_cache,
    q_out,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
    D: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_KV: tl.constexpr,
    BLOCK_D: tl.constexpr,
    PDL: tl.constexpr,
):
    """Program (i, 0) does the queries of token i, program (i, 1) its keys and values."""
    release_next(PDL)
    i = tl.program_id(0).to(tl.int64)
    position = tl.load(positions + i)
    qkv += i * (HQ + 2 * HKV) * D
    dim = tl.arange(0, BLOCK_D)[None, :]
    if tl.program_id(1) == 0:
        wait_for_inputs(PDL)
        q_head = tl.arange(0, BLOCK_Q)[:, None]
        q = rotated_heads(qkv, q_weight, eps, cos_sin, position, HQ, D, BLOCK_Q, BLOCK_D)
        tl.store(q_out + i * HQ * D + q_head * D + dim, q, mask=(q_head < HQ) & (dim < D))
    else:
        target = tl.load(loc + i).to(tl.int64) * HKV * D
        wait_for_inputs(PDL)
        head = tl.arange(0, BLOCK_KV)[:, None]
        mask = (head < HKV) & (dim < D)
        v = tl.load(qkv + (HQ + HKV) * D + head * D + dim, mask=mask)
        k = rotated_heads(qkv + HQ * D, k_weight, eps, cos_sin, position, HKV, D, BLOCK_KV, BLOCK_D)
        tl.store(k_cache + target + head * D + dim, k, mask=mask)
        tl.store(v_cache + target + head * D + dim, v, mask=mask)


def apply_rope(x: torch.Tensor, positions: torch.Tensor, cos_sin: torch.Tensor) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    if x.numel() == 0:
        return out
    n, heads, size = x.shape
    block_h, block_d = next_power_of_2(heads), next_power_of_2(size)
    pdl = has_pdl(x)
    rope_kernel[(n,)](
        x,
        positions,
        cos_sin,
        out,
        heads,
        D=size,
        BLOCK_H=block_h,
        BLOCK_D=block_d,
        PDL=pdl,
        num_warps=warps_for(block_h * block_d),
        launch_pdl=pdl,
    )
    return out


def qk_norm_rope_store(
    qkv: torch.Tensor,
    q_weight: torch.Tensor | None,
    k_weight: torch.Tensor | None,
    eps: float,
    cos_sin: torch.Tensor,
    positions: torch.Tensor,
    loc: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    num_qo_heads: int,
    num_kv_heads: int,
) -> torch.Tensor:
    assert k_cache.is_contiguous() and v_cache.is_contiguous()
    qkv = qkv.contiguous()
    size = qkv.shape[1] // (num_qo_heads + 2 * num_kv_heads)
    q = qkv.new_empty(len(qkv), num_qo_heads, size)
    if len(qkv) == 0:
        return q
    block_q, block_d = next_power_of_2(num_qo_heads), next_power_of_2(size)
    pdl = has_pdl(qkv)
    qk_norm_rope_store_kernel[(len(qkv), 2)](
        qkv,
        q_weight,
        k_weight,
        eps,
        cos_sin,
        positions,
        loc,
        k_cache,
        v_cache,
        q,
        HQ=num_qo_heads,
        HKV=num_kv_heads,
        D=size,
        BLOCK_Q=block_q,
        BLOCK_KV=next_power_of_2(num_kv_heads),
        BLOCK_D=block_d,
        PDL=pdl,
        num_warps=warps_for(block_q * block_d),
        launch_pdl=pdl,
    )
    return q
