"""From logits to tokens in one pass over them and a look at one block.

Why: a softmax, a cumulative sum and a search in torch read and write the logits a dozen times, in float64,
and cannot run in a captured graph beside greedy requests.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...utils import cdiv
from ..reference import NO_TOKEN
from .common import has_pdl, next_power_of_2, release_next, wait_for_inputs

_BLOCK = 4096


@triton.jit
def block_statistics_kernel(
    logits,
    temperatures,
    block_max,
    block_argmax,
    block_sum,
    vocab,
    blocks,
    BLOCK: tl.constexpr,
    PDL: tl.constexpr,
):
    """Program (j, i): of block j of row i the largest logit, its token, and the sum of exp((x - max) / T)."""
    wait_for_inputs(PDL)
    release_next(PDL)
    j, i = tl.program_id(0), tl.program_id(1).to(tl.int64)
    tokens = j * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(logits + i * vocab + tokens, mask=tokens < vocab, other=float("-inf")).to(tl.float32)
    largest, at = tl.max(x, axis=0, return_indices=True)
    temperature = tl.load(temperatures + i)
    # Where the temperature is 0 the sum is not read; where a block is -inf throughout it must not be NaN.
    scores = tl.where(x > float("-inf"), (x - largest) / tl.where(temperature > 0, temperature, 1.0), x)
    is_nan = tl.max((x != x).to(tl.int32), axis=0) > 0
    tl.store(block_max + i * blocks + j, tl.where(is_nan, float("nan"), largest))
    tl.store(block_argmax + i * blocks + j, j * BLOCK + at)
    tl.store(block_sum + i * blocks + j, tl.sum(tl.exp(scores), axis=0))


@triton.jit
def first_above(cumulative, probs, threshold, index):
    """The first index at which `cumulative` exceeds the threshold; one of probability 0 never.

    Where rounding lets none exceed it, the last that has a probability.
    """
    chosen = tl.min(tl.where((cumulative > threshold) & (probs > 0), index, cumulative.shape[0]), axis=0)
    return tl.minimum(chosen, tl.max(tl.where(probs > 0, index, 0), axis=0))


@triton.jit
def choose_kernel(
    logits,
    temperatures,
    uniforms,
    block_max,
    block_argmax,
    block_sum,
    out,
    vocab,
    blocks,
    BLOCK: tl.constexpr,
    BLOCK_J: tl.constexpr,
    NO_TOKEN: tl.constexpr,
    PDL: tl.constexpr,
):
    """Program i: the block in which row i's cumulative sum passes its random number, then the token there."""
    wait_for_inputs(PDL)
    release_next(PDL)
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK_J)
    maxima = tl.load(block_max + i * blocks + j, mask=j < blocks, other=float("-inf"))
    largest, at = tl.max(maxima, axis=0, return_indices=True)
    usable = (tl.max((maxima != maxima).to(tl.int32), axis=0) == 0) & (tl.abs(largest) < float("inf"))
    token = tl.load(block_argmax + i * blocks + at)
    temperature = tl.load(temperatures + i)
    if usable & (temperature > 0):
        sums = tl.load(block_sum + i * blocks + j, mask=j < blocks, other=0.0)
        sums = tl.where(maxima > float("-inf"), sums * tl.exp((maxima - largest) / temperature), 0.0)
        cumulative = tl.cumsum(sums.to(tl.float64), axis=0)
        threshold = tl.load(uniforms + i).to(tl.float64) * tl.sum(sums.to(tl.float64), axis=0)
        block = first_above(cumulative, sums, threshold, j)
        before = tl.sum(tl.where(j < block, sums.to(tl.float64), 0.0), axis=0)

        k = tl.arange(0, BLOCK)
        inside = block * BLOCK + k < vocab
        x = tl.load(logits + i * vocab + block * BLOCK + k, mask=inside, other=float("-inf")).to(tl.float32)
        probs = tl.exp((x - largest) / temperature)
        cumulative = before + tl.cumsum(probs.to(tl.float64), axis=0)
        token = block * BLOCK + first_above(cumulative, probs, threshold, k)
    tl.store(out + i, tl.where(usable, token, NO_TOKEN))


def sample_tokens(logits: torch.Tensor, temperatures: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    logits = logits.contiguous()
    n, vocab = logits.shape
    out = torch.empty(n, dtype=torch.int32, device=logits.device)
    if n == 0:
        return out
    block = min(next_power_of_2(vocab), _BLOCK)
    blocks = cdiv(vocab, block)
    block_max, block_sum = torch.empty(2, n, blocks, dtype=torch.float32, device=logits.device)
    block_argmax = torch.empty(n, blocks, dtype=torch.int32, device=logits.device)
    pdl = has_pdl(logits)
    block_statistics_kernel[(blocks, n)](
        logits,
        temperatures,
        block_max,
        block_argmax,
        block_sum,
        vocab,
        blocks,
        BLOCK=block,
        PDL=pdl,
        num_warps=8,
        launch_pdl=pdl,
    )
    choose_kernel[(n,)](
        logits,
        temperatures,
        uniforms,
        block_max,
        block_argmax,
        block_sum,
        out,
        vocab,
        blocks,
        BLOCK=block,
        BLOCK_J=next_power_of_2(blocks),
        NO_TOKEN=NO_TOKEN,
        PDL=pdl,
        num_warps=8,
        launch_pdl=pdl,
    )
    return out
