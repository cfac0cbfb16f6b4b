"""Experts as grouped matrix products: tokens are sorted by expert, so that one kernel serves all experts."""

from __future__ import annotations

import os

import torch
import torch.nn.functional as F

from ..env import ENV
from ..layers.activation import silu_and_mul
from ..utils import cdiv
from .base import BaseMoeBackend, select_experts


def moe_align_block_size(
    topk_ids: torch.Tensor, block_size: int, num_experts: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sort pairs of a token and one of its experts by expert, in blocks that have one expert each.

    A pair is known by its index in the flattened `topk_ids`: pair i belongs to token i // top_k. The pairs of
    each expert are padded to whole blocks, so that the number of a block is enough to find the weights.

    Args:
        topk_ids: int [N, top_k], the experts of each token, each in 0 .. num_experts - 1.
        block_size: pairs a block.

    Returns:
        sorted_ids: int32 [padded], expert by expert its pairs, ascending, and then the padding, which is
            `topk_ids.numel()` and no pair;
        expert_ids: int32 [padded / block_size], the expert of each block; one without pairs has no block;
        num_post_pad: int32 [1], padded.
    """
    flat = topk_ids.flatten().long()
    counts = torch.bincount(flat, minlength=num_experts)
    blocks = (counts + block_size - 1) // block_size
    by_expert = torch.argsort(flat, stable=True)
    experts = flat[by_expert]
    rank = torch.arange(len(flat), device=flat.device) - (counts.cumsum(0) - counts)[experts]
    first = (blocks.cumsum(0) - blocks) * block_size
    sorted_ids = torch.full(
        (int(blocks.sum()) * block_size,), len(flat), dtype=torch.int32, device=flat.device
    )
    sorted_ids[first[experts] + rank] = by_expert.int()
    expert_ids = torch.repeat_interleave(torch.arange(num_experts, device=flat.device), blocks).int()
    return sorted_ids, expert_ids, torch.tensor([len(sorted_ids)], dtype=torch.int32, device=flat.device)


BLOCK_SIZES = (16, 32, 64, 128)  # what tensor cores multiply at once, and what registers hold


def pick_block_size(num_pairs: int, num_experts: int) -> int:
    """Pairs a block: what an expert gets on average.

    Larger blocks read weights less often, smaller ones compute less padding.
    """
    average = cdiv(num_pairs, num_experts)
    return next((size for size in BLOCK_SIZES if average <= size), BLOCK_SIZES[-1])


class FusedMoe(BaseMoeBackend):
    """On a GPU five kernels a layer, none of which waits for the CPU: all of it fits into a CUDA graph.

    On the CPU the same blocks are multiplied one after another, in Triton's interpreter if `TRITON_INTERPRET`
    is 1, else in torch.
    """

    def __init__(self) -> None:
        self._warm: set[tuple[torch.Size, torch.dtype]] = set()  # of which kernels are compiled

    @property
    def can_capture(self) -> bool:
        return ENV.KERNELS.value == "auto"

    def forward(
        self,
        hidden_states: torch.Tensor,
        w1: torch.Tensor,
        w2: torch.Tensor,
        gating_output: torch.Tensor,
        topk: int,
        renormalize: bool,
    ) -> torch.Tensor:
        block_size = pick_block_size(gating_output.shape[0] * topk, gating_output.shape[1])
        if hidden_states.is_cuda and ENV.KERNELS.value == "auto":
            from ..kernel.triton import fused_moe

            weights, ids = fused_moe.topk_softmax(gating_output, topk, renormalize)
            if (w1.shape, w1.dtype) not in self._warm:
                self._warm.add((w1.shape, w1.dtype))
                _compile(hidden_states[:1], w1, w2, weights[:1], ids[:1])
            blocks = fused_moe.align_blocks(ids, block_size, len(w1))
            return fused_moe.fused_experts(hidden_states, w1, w2, weights, *blocks, block_size)
        weights, ids = select_experts(gating_output, topk, renormalize)
        blocks = moe_align_block_size(ids, block_size, len(w1))
        if _is_interpreted(hidden_states):
            from ..kernel.triton import fused_moe

            return fused_moe.fused_experts(hidden_states, w1, w2, weights, *blocks, block_size)
        return _experts_by_blocks(hidden_states, w1, w2, weights, *blocks, block_size)


def _compile(
    x: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor, weights: torch.Tensor, ids: torch.Tensor
) -> None:
    """Compile the kernels for all sizes of blocks now: no user is to wait for it at the first long prompt."""
    from ..kernel.triton import fused_moe

    for block_size in BLOCK_SIZES:
        blocks = fused_moe.align_blocks(ids, block_size, len(w1))
        fused_moe.fused_experts(x, w1, w2, weights, *blocks, block_size)


def _is_interpreted(x: torch.Tensor) -> bool:
    # The interpreter multiplies bfloat16 as if its bits were integers.
    wanted = ENV.KERNELS.value == "auto" and os.environ.get("TRITON_INTERPRET") == "1"
    return wanted and x.dtype != torch.bfloat16


def _experts_by_blocks(
    x: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    weights: torch.Tensor,
    sorted_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_post_pad: torch.Tensor,
    block_size: int,
) -> torch.Tensor:
    """What `fused_moe.fused_experts` computes, in torch."""
    num_tokens, topk = weights.shape
    out = x.new_zeros((num_tokens * topk, w2.shape[1]))
    blocks = sorted_ids[: int(num_post_pad)].view(-1, block_size)
    for pairs, expert in zip(blocks, expert_ids.tolist(), strict=False):
        pairs = pairs[pairs < len(out)].long()
        y = silu_and_mul(F.linear(x[pairs // topk], w1[expert]))
        out[pairs] = (F.linear(y, w2[expert]) * weights.view(-1)[pairs].unsqueeze(1)).to(x.dtype)
    return out.view(num_tokens, topk, -1).sum(dim=1)
