"""Experts as grouped products.

Why: one product an expert would be hundreds of launches a layer, and only the GPU knows which are needed.

None of them needs a number from the device: what depends on the routing is read by the kernels themselves,
so that a CUDA graph can replay them. Each returns new tensors.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from ...utils import cdiv
from .common import next_power_of_2

_MANY_PROGRAMS = 264  # two for each processor of an H100 or H200


@triton.jit
def topk_softmax_kernel(
    logits,
    weights,
    ids,
    num_experts,
    TOP_K: tl.constexpr,
    RENORMALIZE: tl.constexpr,
    BLOCK_E: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Program i: softmax of row i, then its TOP_K largest, one after another."""
    row = tl.program_id(0)
    experts = tl.arange(0, BLOCK_E)
    x = tl.load(logits + row * num_experts + experts, mask=experts < num_experts, other=float("-inf"))
    x = x.to(tl.float32)
    probs = tl.exp(x - tl.max(x, axis=0))
    probs = probs / tl.sum(probs, axis=0)
    probs = tl.where(experts < num_experts, probs, -1.0)
    slots = tl.arange(0, BLOCK_K)
    chosen = tl.zeros((BLOCK_K,), dtype=tl.float32)
    chosen_ids = tl.zeros((BLOCK_K,), dtype=tl.int32)
    for k in range(TOP_K):
        best, expert = tl.max(probs, axis=0, return_indices=True, return_indices_tie_break_left=True)
        # Logits that are no numbers choose something in range, and what they weigh is no number either.
        expert = tl.minimum(tl.maximum(expert, 0), num_experts - 1)
        chosen = tl.where(slots == k, best, chosen)
        chosen_ids = tl.where(slots == k, expert, chosen_ids)
        probs = tl.where(experts == expert, -1.0, probs)
    if RENORMALIZE:
        chosen = chosen / tl.sum(chosen, axis=0)
    tl.store(weights + row * TOP_K + slots, chosen, mask=slots < TOP_K)
    tl.store(ids + row * TOP_K + slots, chosen_ids, mask=slots < TOP_K)


@triton.jit(do_not_specialize=["num_pairs"])  # else it is compiled again for other numbers
def align_kernel(
    ids,
    sorted_ids,
    expert_ids,
    num_post_pad,
    num_pairs,
    num_experts,
    BLOCK_SIZE: tl.constexpr,
    BINS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Program e writes the blocks of expert e. All programs count the pairs of all experts: none waits."""
    expert = tl.program_id(0)
    bins = tl.arange(0, BINS)
    counts = tl.zeros((BINS,), dtype=tl.int32)
    for start in range(0, num_pairs, CHUNK):
        pairs = start + tl.arange(0, CHUNK)
        # What is past the end is counted in a bin that no expert has.
        chunk = tl.load(ids + pairs, mask=pairs < num_pairs, other=num_experts)
        counts += tl.histogram(chunk, BINS)
    padded = (counts + BLOCK_SIZE - 1) // BLOCK_SIZE * BLOCK_SIZE
    first = tl.sum(tl.where(bins < expert, padded, 0), axis=0)
    own = tl.sum(tl.where(bins == expert, counts, 0), axis=0)
    own_padded = (own + BLOCK_SIZE - 1) // BLOCK_SIZE * BLOCK_SIZE
    if expert == 0:
        tl.store(num_post_pad, tl.sum(tl.where(bins < num_experts, padded, 0), axis=0))
    for block in range(0, own_padded, BLOCK_SIZE):
        tl.store(expert_ids + (first + block) // BLOCK_SIZE, expert)
    written = 0
    for start in range(0, num_pairs, CHUNK):
        pairs = start + tl.arange(0, CHUNK)
        chunk = tl.load(ids + pairs, mask=pairs < num_pairs, other=num_experts)
        mine = chunk == expert
        ranks = tl.cumsum(mine.to(tl.int32), axis=0) - 1
        tl.store(sorted_ids + first + written + ranks, pairs, mask=mine)
        written += tl.sum(mine.to(tl.int32), axis=0)
    padding = own + tl.arange(0, BLOCK_SIZE)
    tl.store(sorted_ids + first + padding, num_pairs, mask=padding < own_padded)


@triton.jit(do_not_specialize=["num_pairs"])  # else it is compiled again for other numbers
def gate_up_kernel(
    x,
    w,
    out,
    sorted_ids,
    expert_ids,
    num_post_pad,
    num_pairs,
    top_k,
    hidden_size,
    size,
    stride_we,
    stride_wn,
    stride_wk,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Program (m, n): silu(gate) * up of the pairs of block m, columns of block n. `out` has a row a pair."""
    block = tl.program_id(0)
    if block * BLOCK_M >= tl.load(num_post_pad):
        return
    pairs = tl.load(sorted_ids + block * BLOCK_M + tl.arange(0, BLOCK_M))
    real = pairs < num_pairs
    expert = tl.load(expert_ids + block).to(tl.int64)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    x_rows = x + (pairs // top_k).to(tl.int64)[:, None] * hidden_size
    gate_columns = w + expert * stride_we + columns[None, :] * stride_wn
    up_columns = gate_columns + size * stride_wn
    gate = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    up = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, hidden_size, BLOCK_K):
        ks = start + inner
        a = tl.load(x_rows + ks[None, :], mask=real[:, None] & (ks < hidden_size)[None, :], other=0.0)
        mask = (ks < hidden_size)[:, None] & (columns < size)[None, :]
        b = tl.load(gate_columns + ks[:, None] * stride_wk, mask=mask, other=0.0)
        gate = tl.dot(a, b, gate, input_precision=PRECISION)
        b = tl.load(up_columns + ks[:, None] * stride_wk, mask=mask, other=0.0)
        up = tl.dot(a, b, up, input_precision=PRECISION)
    # Rounded where the layers of a dense network round.
    gate, up = gate.to(x.dtype.element_ty).to(tl.float32), up.to(x.dtype.element_ty).to(tl.float32)
    result = gate / (1.0 + tl.exp(-gate)) * up
    target = out + pairs.to(tl.int64)[:, None] * size + columns[None, :]
    tl.store(target, result.to(out.dtype.element_ty), mask=real[:, None] & (columns < size)[None, :])


@triton.jit(do_not_specialize=["num_pairs"])  # else it is compiled again for other numbers
def down_kernel(
    x,
    w,
    out,
    weights,
    sorted_ids,
    expert_ids,
    num_post_pad,
    num_pairs,
    size,
    hidden_size,
    stride_we,
    stride_wn,
    stride_wk,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """Program (m, n): the pairs of block m through their expert's last matrix, times the router's weights."""
    block = tl.program_id(0)
    if block * BLOCK_M >= tl.load(num_post_pad):
        return
    pairs = tl.load(sorted_ids + block * BLOCK_M + tl.arange(0, BLOCK_M))
    real = pairs < num_pairs
    expert = tl.load(expert_ids + block).to(tl.int64)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    x_rows = x + pairs.to(tl.int64)[:, None] * size
    w_columns = w + expert * stride_we + columns[None, :] * stride_wn
    result = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, size, BLOCK_K):
        ks = start + inner
        a = tl.load(x_rows + ks[None, :], mask=real[:, None] & (ks < size)[None, :], other=0.0)
        mask = (ks < size)[:, None] & (columns < hidden_size)[None, :]
        b = tl.load(w_columns + ks[:, None] * stride_wk, mask=mask, other=0.0)
        result = tl.dot(a, b, result, input_precision=PRECISION)
    result = result * tl.load(weights + pairs, mask=real, other=0.0)[:, None]
    target = out + pairs.to(tl.int64)[:, None] * hidden_size + columns[None, :]
    tl.store(target, result.to(out.dtype.element_ty), mask=real[:, None] & (columns < hidden_size)[None, :])


def topk_softmax(logits: torch.Tensor, top_k: int, renormalize: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """`select_experts` in one kernel: logits [N, num_experts] to float32 and int32 [N, top_k]."""
    logits = logits.contiguous()
    num_tokens, num_experts = logits.shape
    weights = torch.empty((num_tokens, top_k), dtype=torch.float32, device=logits.device)
    ids = torch.empty((num_tokens, top_k), dtype=torch.int32, device=logits.device)
    topk_softmax_kernel[(num_tokens,)](
        logits,
        weights,
        ids,
        num_experts,
        TOP_K=top_k,
        RENORMALIZE=renormalize,
        BLOCK_E=next_power_of_2(num_experts),
        BLOCK_K=next_power_of_2(top_k),
        num_warps=1,
    )
    return weights, ids


def align_blocks(
    topk_ids: torch.Tensor, block_size: int, num_experts: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """`moe_align_block_size` without asking the device how long the result is.

    The first two tensors have room for any routing, int32 [max_blocks * block_size] and [max_blocks]; what
    lies behind `num_post_pad` entries, and behind their blocks, is undefined.
    """
    num_pairs = topk_ids.numel()
    # An expert's last block may be partial, and each block has one pair at least.
    max_blocks = min(num_pairs, num_pairs // block_size + num_experts)
    sorted_ids, expert_ids, num_post_pad = (
        torch.empty(size, dtype=torch.int32, device=topk_ids.device)
        for size in (max_blocks * block_size, max_blocks, 1)
    )
    align_kernel[(num_experts,)](
        topk_ids,
        sorted_ids,
        expert_ids,
        num_post_pad,
        num_pairs,
        num_experts,
        BLOCK_SIZE=block_size,
        BINS=next_power_of_2(num_experts + 1),
        CHUNK=1024,
        num_warps=4,
    )
    return sorted_ids, expert_ids, num_post_pad


def fused_experts(
    x: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    weights: torch.Tensor,
    sorted_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_post_pad: torch.Tensor,
    block_size: int,
) -> torch.Tensor:
    """The weighted sum of each token's experts.

    Args:
        x: [N, hidden_size].
        w1: [num_experts, 2 size, hidden_size]; w2: [num_experts, hidden_size, size]; any strides.
        weights: float32 [N, top_k], the router's.
        sorted_ids, expert_ids, num_post_pad: as `moe_align_block_size` or `align_blocks` gives them.
        block_size: a power of 2, at least 16 on a GPU.

    Returns:
        [N, hidden_size] in x's dtype.
    """
    x = x.contiguous()
    num_tokens, top_k = weights.shape
    hidden_size, size = w2.shape[1:]
    num_pairs, num_blocks = num_tokens * top_k, len(expert_ids)
    settings = settings_of(block_size, x.dtype == torch.float32)
    block_n = _columns(size, num_blocks, block_size, x.dtype)
    inner = x.new_empty((num_pairs, size))
    gate_up_kernel[(num_blocks, cdiv(size, block_n))](
        x,
        w1,
        inner,
        sorted_ids,
        expert_ids,
        num_post_pad,
        num_pairs,
        top_k,
        hidden_size,
        size,
        *w1.stride(),
        BLOCK_N=block_n,
        **settings,
    )
    block_n = _columns(hidden_size, num_blocks, block_size, x.dtype)
    out = x.new_empty((num_pairs, hidden_size))
    down_kernel[(num_blocks, cdiv(hidden_size, block_n))](
        inner,
        w2,
        out,
        weights,
        sorted_ids,
        expert_ids,
        num_post_pad,
        num_pairs,
        size,
        hidden_size,
        *w2.stride(),
        BLOCK_N=block_n,
        **settings,
    )
    return out.view(num_tokens, top_k, hidden_size).sum(dim=1)


def settings_of(block_size: int, is_float32: bool) -> dict[str, Any]:
    """How both products are cut, but for their columns."""
    block_k = 128 if block_size <= 32 else 64
    return {
        "BLOCK_M": block_size,
        "BLOCK_K": 32 if is_float32 else block_k,  # twice the bytes must fit into the same shared memory
        "PRECISION": "ieee" if is_float32 else "tf32",  # float32 is not cut to the 10 bits of TF32
        "num_warps": 4 if block_size <= 64 else 8,
        "num_stages": 3,
    }


def _columns(size: int, num_blocks: int, block_size: int, dtype: torch.dtype) -> int:
    """Columns a program: many, so that tokens are read seldom, but not so many that processors are idle."""
    columns = 64 if block_size <= 32 or dtype == torch.float32 else 128
    return columns if num_blocks * cdiv(size, columns) >= _MANY_PROGRAMS else 32
