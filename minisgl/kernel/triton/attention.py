"""Attention of one query a request, over keys and values scattered in the pool.

Why: at batch 256 this reads 30 GB a step and is most of the step's time. Split over each request's keys
(flash-decoding, https://pytorch.org/blog/flash-decoding/), so that few or long requests fill the GPU, too. It
takes in the norms, the rotation and the storing in front, and the merging of the splits behind, each of which
would be a launch a layer.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from ...utils import cdiv
from .common import has_pdl, next_power_of_2, release_next, wait_for_inputs
from .rope import rotated_heads

MAX_PAIRS = 1 << 16  # of request and KV head, in one launch


@dataclass(frozen=True)
class DecodeConfig:
    """How the work is cut. All give the same result, up to rounding."""

    block: int = 64  # keys a program takes at a time
    splits: int = 8  # most programs a request and KV head
    min_chunk: int = 256  # fewest keys that are worth a program of their own
    warps: int = 4
    stages: int = (
        3  # one more than blocks in flight; 1: the first is asked for before the kernel in front ends
    )


@triton.jit
def merge_splits(
    part_out,
    part_lse,
    out,
    num_parts,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    PARTS: tl.constexpr,
    BLOCK_GROUP: tl.constexpr,
    BLOCK_D: tl.constexpr,
):
    """Weigh the splits' results [splits, GROUP, D] by their log-sum-exps [splits, GROUP], base 2.

    PARTS at a time: what a program holds in registers here, the kernels behind cannot have for their weights.
    """
    part, g = tl.arange(0, PARTS)[:, None], tl.arange(0, BLOCK_GROUP)[None, :]
    dim = tl.arange(0, BLOCK_D)[None, None, :]
    m = tl.full([BLOCK_GROUP], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_GROUP], tl.float32)
    merged = tl.zeros([BLOCK_GROUP, BLOCK_D], tl.float32)
    for first in tl.range(0, num_parts, PARTS):
        exists = (first + part < num_parts) & (g < GROUP)
        at = (first + part) * GROUP + g
        # `.cg`: other programs wrote these; a copy in this processor's own cache would be stale
        lse = tl.load(part_lse + at, mask=exists, other=float("-inf"), cache_modifier=".cg")
        mask = exists[:, :, None] & (dim < D)
        values = tl.load(part_out + at[:, :, None] * D + dim, mask=mask, other=0.0, cache_modifier=".cg")
        m_new = tl.maximum(m, tl.max(lse, axis=0))
        keep, weights = tl.exp2(m - m_new), tl.where(exists, tl.exp2(lse - m_new[None, :]), 0.0)
        merged = merged * keep[:, None] + tl.sum(values * weights[:, :, None], axis=0)
        total = total * keep + tl.sum(weights, axis=0)
        m = m_new
    g, dim = tl.arange(0, BLOCK_GROUP)[:, None], tl.arange(0, BLOCK_D)[None, :]
    tl.store(out + g * D + dim, merged / total[:, None], mask=(g < GROUP) & (dim < D))


@triton.jit
def attend_block(q, k, v, exists, m, total, acc, log2_scale):
    """Take one block of keys into a running softmax: its maximum, its sum, and the weighted values."""
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * log2_scale
    scores = tl.where(exists[None, :], scores, float("-inf"))
    m_new = tl.maximum(m, tl.max(scores, axis=1))
    probs = tl.exp2(scores - m_new[:, None])
    keep = tl.exp2(m - m_new)
    acc = tl.dot(probs.to(v.dtype), v, acc * keep[:, None], input_precision="ieee")
    return m_new, total * keep + tl.sum(probs, axis=1), acc


@triton.jit(do_not_specialize_on_alignment=["rows", "cache_seqlens"])
def decode_attention_kernel(
    q_or_qkv,
    q_weight,
    k_weight,
    eps,
    cos_sin,
    k_cache,
    v_cache,
    page_table,
    rows,
    cache_seqlens,
    out,
    part_out,
    part_lse,
    arrivals,
    table_width,
    scale,
    min_chunk,
    HKV: tl.constexpr,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    FUSED: tl.constexpr,
    BLOCK_GROUP: tl.constexpr,
    BLOCK_G: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    SPLITS: tl.constexpr,
    PARTS: tl.constexpr,
    STAGES: tl.constexpr,
    PDL: tl.constexpr,
):
    """Program (h, s, i): the queries that share KV head h of request i, over its split s of the keys.

    The heads of one split are neighbours in the grid, hence run together: a token's row of all heads is then
    read as a whole.
    """
    EAGER: tl.constexpr = FUSED and STAGES == 1
    release_next(PDL)
    if not FUSED:  # the kernel in front may be storing the newest keys and values
        wait_for_inputs(PDL)
    h, split, i = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    length = tl.load(cache_seqlens + i)
    chunk = tl.cdiv(tl.maximum(min_chunk, tl.cdiv(length, SPLITS)), BLOCK_N) * BLOCK_N
    num_parts = tl.cdiv(length, chunk)
    if split >= num_parts:
        return
    start, end = split * chunk, tl.minimum(split * chunk + chunk, length)
    has_new = FUSED and end == length  # the split with the new token, which is not in the pool yet
    if has_new:
        end -= 1
    row = page_table + tl.load(rows + i).to(tl.int64) * table_width

    g, dim, key = tl.arange(0, BLOCK_G), tl.arange(0, BLOCK_D), tl.arange(0, BLOCK_N)
    in_group, in_head = g < GROUP, dim < D
    HQ: tl.constexpr = HKV * GROUP
    dtype = k_cache.dtype.element_ty
    log2_scale = scale * 1.4426950408889634  # exp2 is what the hardware has
    k_head, v_head = k_cache + h * D + dim[None, :], v_cache + h * D + dim[None, :]
    m = tl.full([BLOCK_G], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_G], tl.float32)
    acc = tl.zeros([BLOCK_G, BLOCK_D], tl.float32)

    # Locations are read a block ahead, so that keys and values need not wait for them. What is masked must
    # come as zero: a probability of zero times what nobody wrote may be NaN.
    loc = tl.load(row + start + key, mask=start + key < end, other=0)
    if EAGER:
        mask = (start + key < end)[:, None] & in_head[None, :]
        at = loc.to(tl.int64)[:, None] * (HKV * D)
        k, v = tl.load(k_head + at, mask=mask, other=0.0), tl.load(v_head + at, mask=mask, other=0.0)
        loc = tl.load(row + start + BLOCK_N + key, mask=start + BLOCK_N + key < end, other=0)

    if FUSED:
        wait_for_inputs(PDL)
        heads = q_or_qkv + i * (HQ + 2 * HKV) * D
        q = rotated_heads(
            heads + h * GROUP * D, q_weight, eps, cos_sin, length - 1, GROUP, D, BLOCK_G, BLOCK_D
        ).to(dtype)
        if has_new:
            k_new = rotated_heads(
                heads + (HQ + h) * D, k_weight, eps, cos_sin, length - 1, 1, D, 1, BLOCK_D
            ).to(dtype)
            v_new = tl.load(heads + (HQ + HKV + h) * D + dim[None, :], mask=in_head[None, :], other=0.0)
            at_new = tl.load(row + length - 1).to(tl.int64) * (HKV * D)
            tl.store(k_head + at_new, k_new, mask=in_head[None, :])
            tl.store(v_head + at_new, v_new, mask=in_head[None, :])
            m = tl.sum(q.to(tl.float32) * k_new.to(tl.float32), axis=1) * log2_scale
            total += 1.0
            acc += v_new.to(tl.float32)
    else:
        q = tl.load(
            q_or_qkv + (i * HQ + h * GROUP + g[:, None]) * D + dim[None, :],
            mask=in_group[:, None] & in_head[None, :],
            other=0.0,
        )

    for n in tl.range(start, end, BLOCK_N, num_stages=STAGES):
        if not EAGER:
            mask = (n + key < end)[:, None] & in_head[None, :]
            at = loc.to(tl.int64)[:, None] * (HKV * D)
            loc = tl.load(row + n + BLOCK_N + key, mask=n + BLOCK_N + key < end, other=0)
            k, v = tl.load(k_head + at, mask=mask, other=0.0), tl.load(v_head + at, mask=mask, other=0.0)
        m, total, acc = attend_block(q, k, v, n + key < end, m, total, acc, log2_scale)
        if EAGER:
            mask = (n + BLOCK_N + key < end)[:, None] & in_head[None, :]
            at = loc.to(tl.int64)[:, None] * (HKV * D)
            loc = tl.load(row + n + 2 * BLOCK_N + key, mask=n + 2 * BLOCK_N + key < end, other=0)
            k, v = tl.load(k_head + at, mask=mask, other=0.0), tl.load(v_head + at, mask=mask, other=0.0)

    acc = acc / total[:, None]
    head = i * HQ + h * GROUP
    mask = in_group[:, None] & in_head[None, :]
    tile = g[:, None] * D + dim[None, :]
    if num_parts == 1:
        tl.store(out + head * D + tile, acc, mask=mask)
        return
    pair = i * HKV + h
    part_out += pair * SPLITS * GROUP * D
    part_lse += pair * SPLITS * GROUP
    tl.store(part_out + split * GROUP * D + tile, acc, mask=mask)
    tl.store(part_lse + split * GROUP + g, m + tl.log2(total), mask=in_group)
    tl.debug_barrier()  # all threads have stored before one of them says so
    if tl.atomic_add(arrivals + pair, 1, sem="acq_rel") == num_parts - 1:
        # The last to arrive merges, which spares a launch, and leaves the counter as it found it.
        tl.store(arrivals + pair, 0)
        merge_splits(part_out, part_lse, out + head * D, num_parts, GROUP, D, PARTS, BLOCK_GROUP, BLOCK_D)


@functools.cache
def arrivals(device: torch.device) -> torch.Tensor:
    """Zeros, and zeros again after every launch. Launches of one device therefore share a stream."""
    return torch.zeros(MAX_PAIRS, dtype=torch.int32, device=device)


@functools.cache
def _processors(device: torch.device) -> int:
    if device.type != "cuda":
        return 4
    return torch.cuda.get_device_properties(device).multi_processor_count


def choose_config(batch: int, num_kv_heads: int, group: int, fused: bool, processors: int) -> DecodeConfig:
    """Enough programs to fill the GPU, from what a captured graph knows: the lengths are not among it."""
    splits = next_power_of_2(cdiv(2 * processors, batch * num_kv_heads))
    if splits < 8:
        return DecodeConfig(min_chunk=256 if splits == 1 else 128)
    # Few programs, each of one block or two: what counts is when the first one comes.
    if not fused or group > 16:
        return DecodeConfig(block=32, splits=min(splits, 32), min_chunk=32, stages=1)
    # A single warp has nobody to wait for, and leaves room for the kernels behind to hold their weights in.
    return DecodeConfig(block=16, splits=min(max(splits, 32), 64), min_chunk=16, warps=1, stages=1)


def _launch(
    q_or_qkv: torch.Tensor,
    q_weight: torch.Tensor | None,
    k_weight: torch.Tensor | None,
    eps: float,
    cos_sin: torch.Tensor | None,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    page_table: torch.Tensor,
    rows: torch.Tensor,
    cache_seqlens: torch.Tensor,
    scale: float,
    num_qo_heads: int,
    config: DecodeConfig | None,
) -> torch.Tensor:
    assert k_cache.is_contiguous() and v_cache.is_contiguous() and page_table.stride(1) == 1
    batch, (num_kv_heads, size) = len(q_or_qkv), k_cache.shape[1:]
    group = num_qo_heads // num_kv_heads
    device = q_or_qkv.device
    out = q_or_qkv.new_empty(batch, num_qo_heads, size)
    if batch == 0:
        return out
    assert batch * num_kv_heads <= MAX_PAIRS
    config = config or choose_config(batch, num_kv_heads, group, cos_sin is not None, _processors(device))
    parts = (batch, num_kv_heads, config.splits, group)
    pdl = has_pdl(q_or_qkv)
    decode_attention_kernel[(num_kv_heads, config.splits, batch)](
        q_or_qkv.contiguous(),
        q_weight,
        k_weight,
        eps,
        cos_sin,
        k_cache,
        v_cache,
        page_table,
        rows,
        cache_seqlens,
        out,
        torch.empty(*parts, size, dtype=torch.float32, device=device),
        torch.empty(parts, dtype=torch.float32, device=device),
        arrivals(device),
        page_table.stride(0),
        scale,
        config.min_chunk,
        HKV=num_kv_heads,
        GROUP=group,
        D=size,
        FUSED=cos_sin is not None,
        BLOCK_GROUP=next_power_of_2(group),
        BLOCK_G=max(next_power_of_2(group), 16),  # the least rows of a tensor core's product
        BLOCK_D=max(next_power_of_2(size), 16),
        BLOCK_N=config.block,
        SPLITS=config.splits,
        PARTS=max(min(config.splits, 32 // next_power_of_2(group)), 1),
        STAGES=config.stages,
        PDL=pdl,
        num_warps=config.warps,
        launch_pdl=pdl,
    )
    return out


def decode_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    page_table: torch.Tensor,
    rows: torch.Tensor,
    cache_seqlens: torch.Tensor,
    scale: float,
    config: DecodeConfig | None = None,
) -> torch.Tensor:
    return _launch(
        q,
        None,
        None,
        0.0,
        None,
        k_cache,
        v_cache,
        page_table,
        rows,
        cache_seqlens,
        scale,
        q.shape[1],
        config,
    )


def fused_decode_attention(
    qkv: torch.Tensor,
    q_weight: torch.Tensor | None,
    k_weight: torch.Tensor | None,
    eps: float,
    cos_sin: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    page_table: torch.Tensor,
    rows: torch.Tensor,
    cache_seqlens: torch.Tensor,
    scale: float,
    num_qo_heads: int,
    num_kv_heads: int,
    config: DecodeConfig | None = None,
) -> torch.Tensor:
    return _launch(
        qkv,
        q_weight,
        k_weight,
        eps,
        cos_sin,
        k_cache,
        v_cache,
        page_table,
        rows,
        cache_seqlens,
        scale,
        num_qo_heads,
        config,
    )
