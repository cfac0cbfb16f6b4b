"""Decode attention for many requests: every program reads equally much, whatever the requests' lengths.

Why: with a program a request and head (attention.py) the long requests are waited for at the end, and with
short splits each program's start, three loads that wait for each other, weighs more than its reading. Here
as many programs as the GPU holds at once divide the blocks of all requests among them, each taking a
consecutive stretch, which may begin and end within a request (as Stream-K divides a matrix product,
https://arxiv.org/abs/2301.03598). The parts of a request that several have worked on are merged by the last.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from . import attention
from .common import has_pdl, next_power_of_2, prefetch_lines, release_next, wait_for_inputs

_MIN_PAIRS = 64  # of request and KV head; with fewer, what counts is how soon the first block comes


@dataclass(frozen=True)
class BalancedConfig:
    """How the work is cut. All give the same result, up to rounding."""

    block: int = 64  # keys a program takes at a time
    programs: int = 4  # most on each of the GPU's processors
    min_blocks: int = 4  # fewest blocks that are worth a program of their own
    warps: int = 2
    stages: int = 2  # one more than blocks in flight


@triton.jit
def first_blocks(
    k_head,
    v_head,
    row,
    start,
    end,
    HKV: tl.constexpr,
    D: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    PDL: tl.constexpr,
):
    """Ask for a program's first keys and values to come into the L2 cache.

    Before the kernel in front has ended: what it stores, the newest token's, is none of them, and would be
    seen all the same, for there is one L2 cache.
    """
    if PDL:
        key = tl.arange(0, BLOCK_N)
        at = tl.load(row + start + key, mask=start + key < end, other=0).to(tl.int64) * (HKV * D)
        LINE: tl.constexpr = 128 * 8 // k_head.dtype.element_ty.primitive_bitwidth
        LINES: tl.constexpr = BLOCK_D // LINE if BLOCK_D > LINE else 1
        lines = at[:, None] + tl.arange(0, LINES)[None, :] * LINE
        prefetch_lines(k_head + lines)
        prefetch_lines(v_head + lines)


@triton.jit(do_not_specialize=["batch"], do_not_specialize_on_alignment=["rows", "cache_seqlens"])
def balanced_attention_kernel(
    q,
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
    batch,
    min_blocks,
    HKV: tl.constexpr,
    GROUP: tl.constexpr,
    D: tl.constexpr,
    BLOCK_G: tl.constexpr,
    BLOCK_D: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_B: tl.constexpr,
    SHARES: tl.constexpr,
    STAGES: tl.constexpr,
    PDL: tl.constexpr,
):
    """Program (h, s): share s of all blocks, for the queries that read KV head h.

    The heads of one share are neighbours in the grid, hence run together: a token's row of all heads is then
    read as a whole. A share whose stretch begins within a request leaves that part in slot 2 s of the
    workspace, one whose stretch ends within a request in slot 2 s + 1 (or in the first, if it began there).
    """
    release_next(PDL)
    # Lengths, rows and locations stand since before the step's first kernel: they may be read at once.
    h, share = tl.program_id(0), tl.program_id(1)
    b = tl.arange(0, BLOCK_B)
    blocks = tl.cdiv(tl.load(cache_seqlens + b, mask=b < batch, other=0), BLOCK_N)
    ends = tl.cumsum(blocks, axis=0)
    total_blocks = tl.max(ends, axis=0)
    per_share = tl.maximum(tl.cdiv(total_blocks, SHARES), min_blocks)
    first = share * per_share
    last = tl.minimum(first + per_share, total_blocks)
    if first >= last:
        return
    is_before = (ends <= first) & (b < batch)
    i = tl.sum(is_before.to(tl.int32), axis=0)
    begin = tl.sum(tl.where(is_before, blocks, 0), axis=0)  # the first block of request i

    g, dim, key = tl.arange(0, BLOCK_G), tl.arange(0, BLOCK_D), tl.arange(0, BLOCK_N)
    in_group, in_head = g < GROUP, dim < D
    HQ: tl.constexpr = HKV * GROUP
    log2_scale = scale * 1.4426950408889634  # exp2 is what the hardware has
    k_head, v_head = k_cache + h * D, v_cache + h * D
    head_mask = in_group[:, None] & in_head[None, :]
    tile = g[:, None] * D + dim[None, :]
    length = tl.load(cache_seqlens + i)
    row_index = tl.load(rows + i)
    row, start = page_table + row_index.to(tl.int64) * table_width, (first - begin) * BLOCK_N
    first_blocks(k_head, v_head, row, start, length - 1, HKV, D, BLOCK_D, BLOCK_N, PDL)
    wait_for_inputs(PDL)

    while first < last:
        row = page_table + row_index.to(tl.int64) * table_width
        num_blocks = tl.cdiv(length, BLOCK_N)
        stop = tl.minimum(begin + num_blocks, last)
        start, end = (first - begin) * BLOCK_N, tl.minimum((stop - begin) * BLOCK_N, length)
        # of the next request, asked for early; the last one reads its own again
        ahead = tl.minimum(i + 1, batch - 1)
        next_length, next_row = tl.load(cache_seqlens + ahead), tl.load(rows + ahead)
        loc = tl.load(row + start + key, mask=start + key < end, other=0)
        queries = tl.load(q + (i.to(tl.int64) * HQ + h * GROUP) * D + tile, mask=head_mask, other=0.0)

        m = tl.full([BLOCK_G], float("-inf"), tl.float32)
        total = tl.zeros([BLOCK_G], tl.float32)
        acc = tl.zeros([BLOCK_G, BLOCK_D], tl.float32)
        for n in tl.range(start, end, BLOCK_N, num_stages=STAGES):
            exists = n + key < end
            # What is masked must come as zero: a probability of zero times what nobody wrote may be NaN.
            mask = exists[:, None] & in_head[None, :]
            at = loc.to(tl.int64)[:, None] * (HKV * D) + dim[None, :]
            # Locations are read a block ahead, so that keys and values need not wait for them.
            loc = tl.load(row + n + BLOCK_N + key, mask=n + BLOCK_N + key < end, other=0)
            k = tl.load(k_head + at, mask=mask, other=0.0)
            v = tl.load(v_head + at, mask=mask, other=0.0)
            m, total, acc = attention.attend_block(queries, k, v, exists, m, total, acc, log2_scale)

        acc = acc / total[:, None]
        target = out + (i.to(tl.int64) * HQ + h * GROUP) * D
        first_share, last_share = begin // per_share, (begin + num_blocks - 1) // per_share
        if first_share == last_share:
            tl.store(target + tile, acc, mask=head_mask)
        else:
            slots = part_out + h * (2 * SHARES * GROUP * D)
            lses = part_lse + h * (2 * SHARES * GROUP)
            slot = 2 * share + (first > share * per_share).to(tl.int32)
            tl.store(slots + slot * GROUP * D + tile, acc, mask=head_mask)
            tl.store(lses + slot * GROUP + g, m + tl.log2(total), mask=in_group)
            tl.debug_barrier()  # all threads have stored before one of them says so
            parts = last_share - first_share + 1
            pair = arrivals + i * HKV + h
            if tl.atomic_add(pair, 1, sem="acq_rel") == parts - 1:
                # The last to arrive merges, and leaves the counter as it found it.
                tl.store(pair, 0)
                m = tl.full([BLOCK_G], float("-inf"), tl.float32)
                total = tl.zeros([BLOCK_G], tl.float32)
                acc = tl.zeros([BLOCK_G, BLOCK_D], tl.float32)
                slot = 2 * first_share + (begin > first_share * per_share).to(tl.int32)
                for p in range(parts):
                    # `.cg`: others wrote these; a copy in this processor's own cache would be stale
                    lse = tl.load(lses + slot * GROUP + g, mask=in_group, other=0.0, cache_modifier=".cg")
                    part = tl.load(
                        slots + slot * GROUP * D + tile, mask=head_mask, other=0.0, cache_modifier=".cg"
                    )
                    m_new = tl.maximum(m, lse)
                    keep, weight = tl.exp2(m - m_new), tl.exp2(lse - m_new)
                    acc = acc * keep[:, None] + part * weight[:, None]
                    total = total * keep + weight
                    m = m_new
                    slot = 2 * (first_share + p + 1)
                tl.store(target + tile, acc / total[:, None], mask=head_mask)
        first = stop
        begin += num_blocks
        i += 1
        length, row_index = next_length, next_row


@functools.cache
def _programs(device: torch.device, config: BalancedConfig) -> int:
    """How many programs the GPU holds at once."""
    if device.type != "cuda":
        return 4 * config.programs
    properties = torch.cuda.get_device_properties(device)
    # keys and values of the blocks in flight, in heads of 128, and room for one block's arithmetic
    shared = (config.stages - 1) * config.block * 128 * 2 * 2 + 8192
    fit = max(properties.shared_memory_per_multiprocessor // shared, 1)
    return min(config.programs, fit) * properties.multi_processor_count


def decode_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    page_table: torch.Tensor,
    rows: torch.Tensor,
    cache_seqlens: torch.Tensor,
    scale: float,
    config: attention.DecodeConfig | BalancedConfig | None = None,
) -> torch.Tensor:
    """Balanced where there are requests enough to fill the GPU, else split as attention.py does."""
    batch, (num_kv_heads, size) = len(q), k_cache.shape[1:]
    if config is None and batch * num_kv_heads >= _MIN_PAIRS:
        config = BalancedConfig()
    if not isinstance(config, BalancedConfig):
        return attention.decode_attention(q, k_cache, v_cache, page_table, rows, cache_seqlens, scale, config)
    assert k_cache.is_contiguous() and v_cache.is_contiguous() and page_table.stride(1) == 1
    assert batch * num_kv_heads <= attention.MAX_PAIRS
    group, device = q.shape[1] // num_kv_heads, q.device
    shares = max(_programs(device, config) // num_kv_heads, 1)
    out = torch.empty_like(q)
    parts = (num_kv_heads, 2 * shares, group)
    pdl = has_pdl(q)
    balanced_attention_kernel[(num_kv_heads, shares)](
        q.contiguous(),
        k_cache,
        v_cache,
        page_table,
        rows,
        cache_seqlens,
        out,
        torch.empty(*parts, size, dtype=torch.float32, device=device),
        torch.empty(parts, dtype=torch.float32, device=device),
        attention.arrivals(device),
        page_table.stride(0),
        scale,
        batch,
        config.min_blocks,
        HKV=num_kv_heads,
        GROUP=group,
        D=size,
        BLOCK_G=max(next_power_of_2(group), 16),  # the least rows of a tensor core's product
        BLOCK_D=max(next_power_of_2(size), 16),
        BLOCK_N=config.block,
        BLOCK_B=max(next_power_of_2(batch), 128),
        SHARES=shares,
        STAGES=config.stages,
        PDL=pdl,
        num_warps=config.warps,
        launch_pdl=pdl,
    )
    return out
