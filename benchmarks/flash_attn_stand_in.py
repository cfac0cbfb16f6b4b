"""The functions of flash-attn that transformers calls, for a machine without that package.

Prompts go to the FlashAttention 2 that torch carries. Decode attention over pages, which torch 2.11 does not
have, goes to this engine's kernel: so transformers is not slowed down by what is missing here. What follows
from a step's block table is computed in its first layer and used by all.
"""

from __future__ import annotations

import inspect
from typing import NamedTuple

import torch
from torch.nn.attention.varlen import varlen_attn

from minisgl import kernel

_GQA = {"enable_gqa": True} if "enable_gqa" in inspect.signature(varlen_attn).parameters else {}


def flash_attn_func(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False) -> torch.Tensor:
    raise NotImplementedError("continuous batching does not call this")


def flash_attn_varlen_func(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
) -> torch.Tensor:
    assert causal and tuple(window_size) == (-1, -1)
    return varlen_attn(
        q,
        k,
        v,
        cu_seqlens_q,
        cu_seqlens_k,
        max_seqlen_q,
        max_seqlen_k,
        scale=softmax_scale,
        window_size=(-1, 0),
        **_GQA,
    )


class StepTable(NamedTuple):
    """What one decode step's block table says."""

    table: torch.Tensor  # int32 [B, tokens], the slot of each token
    loc: torch.Tensor  # int32 [B], the slot of the new token
    rows: torch.Tensor  # int64 [B], of `table`
    lengths: torch.Tensor  # int32 [B], with the new token


_first_layer: int | None = None  # address of the cache of the layer that comes first in every step
_step: StepTable


def step_table(block_table: torch.Tensor, cache_seqlens: torch.Tensor, k_cache: torch.Tensor) -> StepTable:
    """`cache_seqlens` counts the tokens before the new one; -1 is padding, whose KV goes to the last slot."""
    global _first_layer, _step
    address = k_cache.data_ptr()
    if _first_layer is None:
        _first_layer = address
    if address == _first_layer:
        num_blocks, block_size = k_cache.shape[:2]
        within = torch.arange(block_size, device=block_table.device, dtype=torch.int32)
        table = (block_table.clamp(min=0)[:, :, None] * block_size + within).flatten(1)
        before = cache_seqlens.clamp(min=0)
        loc = table.gather(1, before[:, None].long()).squeeze(1)
        loc = loc.masked_fill(cache_seqlens < 0, num_blocks * block_size - 1)
        _step = StepTable(table, loc, torch.arange(len(table), device=table.device), before + 1)
    return _step


def flash_attn_with_kvcache(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    cache_seqlens: torch.Tensor,
    block_table: torch.Tensor,
    softmax_scale: float,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
) -> torch.Tensor:
    """One new token a request: q, k, v [B, 1, heads, head_dim]; caches [blocks, block size, heads, ...]."""
    assert causal and tuple(window_size) == (-1, -1)
    step = step_table(block_table, cache_seqlens, k_cache)
    k_slots, v_slots = k_cache.flatten(0, 1), v_cache.flatten(0, 1)
    kernel.store_cache(k.squeeze(1), v.squeeze(1), step.loc, k_slots, v_slots)
    out = kernel.decode_attention(
        q.squeeze(1), k_slots, v_slots, step.table, step.rows, step.lengths, softmax_scale
    )
    return out.unsqueeze(1)
