"""What each kernel computes, in plain torch: the CPU's path, and what the kernels are tested against.

Signatures are those of `minisgl.kernel`, which documents shapes and dtypes.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

NO_TOKEN = -1
# What a CPU works on at once: larger intermediate results leave its cache, and each is memory that the system
# has to hand out anew.
CHUNK_ELEMENTS = 2**18


def store_cache(
    k: torch.Tensor, v: torch.Tensor, loc: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor
) -> None:
    loc = loc.long()  # index_copy_ takes nothing else; free of charge where it is int64 already
    k_cache.index_copy_(0, loc, k)
    v_cache.index_copy_(0, loc, v)


def indexing(weights: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    return F.embedding(ids, weights)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    return F.rms_norm(x, weight.shape, weight, eps)


def fused_add_rms_norm(
    x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    total = x + residual
    return rms_norm(total, weight, eps), total


def apply_rope(x: torch.Tensor, positions: torch.Tensor, cos_sin: torch.Tensor) -> torch.Tensor:
    from ..layers.rotary import apply_rope  # the layer's own: layers import this package

    return apply_rope(x, positions, cos_sin)


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
    heads = qkv.view(len(qkv), num_qo_heads + 2 * num_kv_heads, k_cache.shape[-1])
    q, k, v = heads.split((num_qo_heads, num_kv_heads, num_kv_heads), dim=1)
    if q_weight is not None:
        q = rms_norm(q, q_weight, eps)
    if k_weight is not None:
        k = rms_norm(k, k_weight, eps)
    store_cache(apply_rope(k, positions, cos_sin), v, loc, k_cache, v_cache)
    return apply_rope(q, positions, cos_sin)


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    gate, up = x.chunk(2, dim=-1)
    return F.silu(gate) * up


def sample_tokens(logits: torch.Tensor, temperatures: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    rows = max(1, CHUNK_ELEMENTS // logits.shape[-1])
    if len(logits) > rows and not logits.is_cuda:
        parts = zip(logits.split(rows), temperatures.split(rows), uniforms.split(rows), strict=True)
        return torch.cat([sample_tokens(*part) for part in parts])
    largest, greedy = logits.max(dim=-1)
    # The largest score becomes 0 before the division, which a tiny temperature would make infinite.
    scores = (logits.float() - largest.float()[:, None]) / temperatures[:, None]
    cumulative = scores.exp().cumsum(dim=-1, dtype=torch.float64)
    thresholds = uniforms.double()[:, None] * cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, thresholds, right=True).squeeze(-1)
    tokens = torch.where(temperatures > 0, drawn, greedy)
    return tokens.where(largest.isfinite(), NO_TOKEN).to(torch.int32)


def gather_sampling(
    temperatures: torch.Tensor, states: torch.Tensor, rows: torch.Tensor, positions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    from ..engine.sample import uniforms  # the sampler's own: it imports this package

    return temperatures[rows], uniforms(states[rows], positions)


def decode_inputs(indices: torch.Tensor, page_table: torch.Tensor) -> torch.Tensor:
    row, position = indices
    return torch.stack((row, position + 1, position, page_table[row, position])).to(torch.int32)


def decode_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    page_table: torch.Tensor,
    rows: torch.Tensor,
    cache_seqlens: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    group = q.shape[1] // k_cache.shape[1]
    out = torch.empty_like(q)
    for i, (row, length) in enumerate(zip(rows.tolist(), cache_seqlens.tolist(), strict=True)):
        loc = page_table[row, :length].long()
        k = k_cache[loc].float().repeat_interleave(group, dim=1)  # [length, heads, head_dim]
        v = v_cache[loc].float().repeat_interleave(group, dim=1)
        probs = (torch.einsum("hd,nhd->hn", q[i].float(), k) * scale).softmax(dim=-1)
        out[i] = torch.einsum("hn,nhd->hd", probs, v)
    return out


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
    positions = cache_seqlens.long() - 1
    loc = page_table[rows.long(), positions]
    q = qk_norm_rope_store(
        qkv, q_weight, k_weight, eps, cos_sin, positions, loc, k_cache, v_cache, num_qo_heads, num_kv_heads
    )
    return decode_attention(q, k_cache, v_cache, page_table, rows, cache_seqlens, scale)


def norm_linear(
    x: torch.Tensor,
    norm_weight: torch.Tensor,
    eps: float,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
) -> torch.Tensor:
    return F.linear(rms_norm(x, norm_weight, eps), weight, bias)


def norm_gate_up(
    x: torch.Tensor, norm_weight: torch.Tensor, eps: float, weight: torch.Tensor
) -> torch.Tensor:
    return silu_and_mul(norm_linear(x, norm_weight, eps, weight))


def linear_add(x: torch.Tensor, weight: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    return F.linear(x, weight) + residual
