"""Chapter 5: one call for requests of any length, with and without a cached prefix.

A computes 6 tokens from scratch, B 3 after 4 cached ones, C 1 after 8.

    python examples/ch05_attention.py
"""

import torch
import torch.nn.functional as F

from minisgl.attention import paged_attention, seqlen_metadata
from minisgl.core import Req, SamplingParams
from minisgl.models.tiny import tiny_config

SHAPES = [(0, 6), (4, 7), (8, 9)]  # (cached_len, device_len) of A, B, C


def plain_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, scale: float) -> torch.Tensor:
    """The last len(q) tokens of one request look at all of it: q [n, heads, head_dim], k and v [m, ...]."""
    n, m, shared = len(q), len(k), q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
    mask = torch.ones(n, m).tril(m - n).bool()
    q, k, v = (x.transpose(0, 1) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale).transpose(0, 1)


def main() -> None:
    config = tiny_config()
    reqs = [
        Req(torch.zeros(device_len, dtype=torch.int32), row, cached_len, 1, row, SamplingParams(), None)
        for row, (cached_len, device_len) in enumerate(SHAPES)
    ]
    cu_seqlens_q, cache_seqlens, last = seqlen_metadata(reqs)
    print("cu_seqlens_q", cu_seqlens_q.tolist())
    print("cache_seqlens", cache_seqlens.tolist())
    print("last", last.tolist())

    torch.manual_seed(0)
    slots, scale = 32, config.head_dim**-0.5
    k_cache, v_cache = torch.randn(2, slots, config.num_kv_heads, config.head_dim).unbind()
    scattered = torch.randperm(slots, dtype=torch.int32)
    page_table = torch.full((len(reqs), 9), 10**6, dtype=torch.int32)  # nothing may be read past the length
    begin = 0
    for row, req in enumerate(reqs):
        page_table[row, : req.device_len] = scattered[begin : begin + req.device_len]
        begin += req.device_len
    q = torch.randn(int(cu_seqlens_q[-1]), config.num_qo_heads, config.head_dim)
    out = paged_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale)

    worst = 0.0
    for row, req in enumerate(reqs):
        mine, locations = slice(*cu_seqlens_q[row : row + 2].tolist()), page_table[row, : req.device_len]
        expected = plain_attention(q[mine], k_cache[locations], v_cache[locations], scale)
        worst = max(worst, (out[mine] - expected).abs().max().item())
    print("max difference to plain attention < 1e-6:", worst < 1e-6)


if __name__ == "__main__":
    main()
