"""Attention in plain torch: the reference for every other backend, and fast enough to serve on a CPU."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F

from ..core import Batch
from ..kvcache import BaseKVCachePool
from .base import BaseAttnBackend, BaseAttnMetadata
from .utils import seqlen_metadata


def paged_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    page_table: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cache_seqlens: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """Causal attention of several requests whose keys and values are scattered over a pool.

    Requests with equally many queries, such as all decodes, run as one call, padded to the longest.

    Args:
        q: [N, heads, head_dim], request after request; query head h uses KV head h // (heads / kv_heads).
        k_cache, v_cache: [slots, kv_heads, head_dim].
        page_table: int32 [B, W], locations of each request's tokens, undefined past its length.
        cu_seqlens_q: int32 [B + 1], request i has the queries from cu[i] up to cu[i + 1].
        cache_seqlens: int32 [B], keys of each request; its queries are the last positions among them.
        scale: factor of the scores, head_dim ** -0.5.

    Returns:
        [N, heads, head_dim] in q's dtype; the softmax is computed in float32.
    """
    requests_with: dict[int, list[int]] = {}  # number of queries -> requests
    for i, (start, end) in enumerate(pairwise(cu_seqlens_q.tolist())):
        requests_with.setdefault(end - start, []).append(i)
    out = torch.empty_like(q)
    for n, requests in requests_with.items():
        rows = torch.tensor(requests, device=q.device)
        lengths = cache_seqlens[rows].view(-1, 1)
        keys = torch.arange(int(lengths.max()), device=q.device)
        tokens = (cu_seqlens_q[rows].view(-1, 1) + torch.arange(n, device=q.device)).flatten()
        # What is undefined points to the request's own first token instead: somewhere that exists.
        table = page_table[rows, : len(keys)]
        locations = torch.where(keys < lengths, table, table[:, :1]).flatten()
        k = k_cache.index_select(0, locations).view(len(rows), len(keys), *k_cache.shape[1:])
        v = v_cache.index_select(0, locations).view(len(rows), len(keys), *v_cache.shape[1:])
        last_visible = lengths - n + torch.arange(n, device=q.device)  # [rows, n]
        mask = keys <= last_visible.unsqueeze(-1)  # [rows, n, keys]
        result = F.scaled_dot_product_attention(
            q[tokens].view(len(rows), n, *q.shape[1:]).transpose(1, 2),
            k.transpose(1, 2),
            v.transpose(1, 2),
            attn_mask=mask.unsqueeze(1),
            scale=scale,
            enable_gqa=True,
        )
        out[tokens] = result.transpose(1, 2).flatten(0, 1)
    return out


@dataclass
class TorchMetadata(BaseAttnMetadata):
    page_table: torch.Tensor  # int32 [B, longest], the batch's rows only
    cu_seqlens_q: torch.Tensor  # int32 [B + 1]
    cache_seqlens: torch.Tensor  # int32 [B]
    last_indices: torch.Tensor  # int64 [B]
    out_loc: torch.Tensor  # int64 [N]

    def get_last_indices(self, bs: int) -> torch.Tensor:
        return self.last_indices[:bs]


class TorchBackend(BaseAttnBackend):
    """Works on every device that torch has."""

    def __init__(self, kv_cache: BaseKVCachePool, page_table: torch.Tensor, head_dim: int) -> None:
        self.kv_cache = kv_cache
        self.page_table = page_table
        self.scale = head_dim**-0.5

    def prepare_metadata(self, batch: Batch) -> None:
        device = self.page_table.device
        reqs = batch.padded_reqs
        cu_seqlens_q, cache_seqlens, last_indices = seqlen_metadata(reqs)
        rows = torch.tensor([req.table_idx for req in reqs], device=device)
        longest = max(req.device_len for req in reqs)
        batch.attn_metadata = TorchMetadata(
            page_table=self.page_table[:, :longest].index_select(0, rows),
            cu_seqlens_q=cu_seqlens_q.to(device),
            cache_seqlens=cache_seqlens.to(device),
            last_indices=last_indices.to(device),
            out_loc=batch.out_loc.long(),
        )

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer_id: int, batch: Batch
    ) -> torch.Tensor:
        metadata = batch.attn_metadata
        assert isinstance(metadata, TorchMetadata)
        self.kv_cache.store_kv(k, v, metadata.out_loc, layer_id)
        return paged_attention(
            q,
            self.kv_cache.k_cache(layer_id).flatten(0, 1),
            self.kv_cache.v_cache(layer_id).flatten(0, 1),
            metadata.page_table,
            metadata.cu_seqlens_q,
            metadata.cache_seqlens,
            self.scale,
        )
