"""Kernels of our own, for what a library does in several launches: one name each, on every device.

On a GPU each function runs a Triton kernel (`kernel/triton/`), elsewhere its torch reference
(`kernel/reference.py`). `MINISGL_KERNELS=torch` takes the references everywhere, to measure what a kernel is
worth or to look for its fault. Triton is imported at the first tensor that is on a GPU.

Functions that say "in place" write into an argument; all others return new tensors. None synchronizes, and
all can be captured in a CUDA graph.
"""

from __future__ import annotations

from types import ModuleType

import torch

from ..env import ENV
from . import reference
from .compare import fast_compare_key

NO_TOKEN = reference.NO_TOKEN
# Tokens up to which a model should take `norm_linear`, `norm_gate_up` and `linear_add`.
MAX_SMALL_BATCH = 4


def use_triton(x: torch.Tensor) -> bool:
    """Whether functions of this package run a Triton kernel for `x`."""
    return x.is_cuda and ENV.KERNELS.value == "auto"


def _kernels(x: torch.Tensor) -> ModuleType:
    if use_triton(x):
        from . import triton

        return triton
    return reference


def store_cache(
    k: torch.Tensor, v: torch.Tensor, loc: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor
) -> None:
    """Write one row of keys and one of values a token into the pool, in place.

    Args:
        k, v: [N, ...], rows of one size.
        loc: int32 or int64 [N], token locations.
        k_cache, v_cache: [slots, ...], contiguous.
    """
    _kernels(k).store_cache(k, v, loc, k_cache, v_cache)


def indexing(weights: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """Rows of a table, [N, size]: weights [rows, size], ids int32 or int64 [N]."""
    return _kernels(weights).indexing(weights, ids)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    """x / sqrt(mean(x^2) + eps) * weight over the last dimension, computed in float32; x [..., size]."""
    return _kernels(x).rms_norm(x, weight, eps)


def fused_add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The norm of x + residual, and x + residual itself; x and residual [..., size]."""
    return _kernels(x).fused_add_rms_norm(x, residual, weight, eps)


def apply_rope(x: torch.Tensor, positions: torch.Tensor, cos_sin: torch.Tensor) -> torch.Tensor:
    """Rotate heads, as `layers.rotary.apply_rope` says: x [N, heads, head_dim], positions int [N]."""
    return _kernels(x).apply_rope(x, positions, cos_sin)


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
    """All that lies between the QKV product and attention: norms of heads, rotation, storing keys and values.

    Args:
        qkv: [N, (num_qo_heads + 2 num_kv_heads) head_dim], any bias added already.
        q_weight, k_weight: [head_dim], or None for a model that does not normalize heads.
        cos_sin: float32 [max_position, head_dim].
        positions: int [N].
        loc: int [N], where each token's keys and values go.
        k_cache, v_cache: [slots, num_kv_heads, head_dim], written in place.

    Returns:
        Queries, normalized and rotated, [N, num_qo_heads, head_dim].
    """
    return _kernels(qkv).qk_norm_rope_store(
        qkv, q_weight, k_weight, eps, cos_sin, positions, loc, k_cache, v_cache, num_qo_heads, num_kv_heads
    )


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    """silu(gate) * up of x [..., 2 * size], which holds gate and up side by side; result [..., size]."""
    return _kernels(x).silu_and_mul(x)


def sample_tokens(logits: torch.Tensor, temperatures: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """One token a row, by inverting the cumulative distribution of softmax(logits / temperature).

    Args:
        logits: [B, V], at least 1 token.
        temperatures: float32 [B]; 0 takes the most likely token, the lowest id of several.
        uniforms: float32 or float64 [B], random numbers in [0, 1); not read where the temperature is 0.

    Returns:
        int32 [B]; `NO_TOKEN` where the largest logit is not a finite number, as with any NaN in the row.
    """
    return _kernels(logits).sample_tokens(logits, temperatures, uniforms)


def gather_sampling(
    temperatures: torch.Tensor, states: torch.Tensor, rows: torch.Tensor, positions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Temperatures and random numbers of a batch, from the sampler's tables.

    Args:
        temperatures, states: float32 and int64 [R], what each row of the page table holds.
        rows, positions: int64 [B], of the tokens to be sampled.

    Returns:
        float32 [B] and float64 [B], as `sample_tokens` takes them; `engine.sample.uniforms` says how.
    """
    return _kernels(rows).gather_sampling(temperatures, states, rows, positions)


def decode_inputs(indices: torch.Tensor, page_table: torch.Tensor) -> torch.Tensor:
    """What a decode step reads of each request.

    Args:
        indices: int64 [2, B], each request's row of the page table and its newest token's position.
        page_table: int32 [R, W], token locations.

    Returns:
        int32 [4, B]: rows, lengths with the newest token, positions, and where the token's KV goes.
    """
    return _kernels(indices).decode_inputs(indices, page_table)


def decode_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    page_table: torch.Tensor,
    rows: torch.Tensor,
    cache_seqlens: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """Attention of one query a request over keys and values scattered in the pool.

    Lengths, rows and locations are read on the device, so that a captured call follows what the tensors hold.

    Args:
        q: [B, num_qo_heads, head_dim]; query head h uses KV head h // (num_qo_heads / num_kv_heads).
        k_cache, v_cache: [slots, num_kv_heads, head_dim], contiguous.
        page_table: int32 [R, W], token locations; nothing is read past a request's length.
        rows: int [B], each request's row of the table.
        cache_seqlens: int32 [B], keys of each request, at least 1.
        scale: factor of the scores, head_dim ** -0.5.

    Returns:
        [B, num_qo_heads, head_dim] in q's dtype.
    """
    return _kernels(q).decode_attention(q, k_cache, v_cache, page_table, rows, cache_seqlens, scale)


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
) -> torch.Tensor:
    """`qk_norm_rope_store` and `decode_attention` in one, for a batch of decodes. For few requests.

    Each request's new token is the last of its `cache_seqlens` keys: its position and its location in the
    page table follow from that. Arguments as in the two functions; keys and values are stored in place.

    On a GPU the earlier tokens' keys and values, the page table, rows and lengths may be read before the
    kernel in front (the one that makes qkv) has ended: they must have been written by what ran before that.

    Returns:
        [B, num_qo_heads, head_dim] in qkv's dtype.
    """
    return _kernels(qkv).fused_decode_attention(
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
        num_kv_heads,
    )


def norm_linear(
    x: torch.Tensor,
    norm_weight: torch.Tensor,
    eps: float,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    """rms_norm(x) weight^T + bias: x [N, input_size], weight [output_size, input_size], contiguous.

    For few tokens: above some tens a library's product behind a norm is faster.
    """
    return _kernels(x).norm_linear(x, norm_weight, eps, weight, bias)


def norm_gate_up(
    x: torch.Tensor, norm_weight: torch.Tensor, eps: float, weight: torch.Tensor
) -> torch.Tensor:
    """silu_and_mul(rms_norm(x) weight^T): x [N, input_size], weight [2 size, input_size], contiguous.

    For few tokens, as `norm_linear`.
    """
    return _kernels(x).norm_gate_up(x, norm_weight, eps, weight)


def linear_add(x: torch.Tensor, weight: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    """x weight^T + residual, the new residual stream: x [N, input_size], residual [N, output_size].

    For few tokens, as `norm_linear`.
    """
    return _kernels(x).linear_add(x, weight, residual)


__all__ = [
    "MAX_SMALL_BATCH",
    "NO_TOKEN",
    "apply_rope",
    "decode_attention",
    "decode_inputs",
    "fast_compare_key",
    "fused_add_rms_norm",
    "fused_decode_attention",
    "gather_sampling",
    "indexing",
    "linear_add",
    "norm_gate_up",
    "norm_linear",
    "qk_norm_rope_store",
    "rms_norm",
    "sample_tokens",
    "silu_and_mul",
    "store_cache",
    "use_triton",
]
