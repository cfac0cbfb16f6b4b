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
    device = q.device

    def attend(q: torch.Tensor, table: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """R requests with n queries each, q [R, n, heads, head_dim], padded to the longest one's keys."""
        n, visible = q.shape[1], lengths.view(-1, 1, 1)
        if n > 1:  # the queries are the last positions: only the last of them sees every key
            visible = visible - torch.arange(n - 1, -1, -1, device=device).view(-1, 1)
        mask = torch.arange(table.shape[1], device=device) < visible  # [R, n, keys]
        # What is undefined points to the request's own first token instead: a place that exists.
        locations = torch.where(mask[:, -1], table, table[:, :1]).flatten()
        k = k_cache.index_select(0, locations).view(*table.shape, *k_cache.shape[1:])
        v = v_cache.index_select(0, locations).view(*table.shape, *v_cache.shape[1:])
        return F.scaled_dot_product_attention(
            q.transpose(1, 2),
            k.transpose(1, 2),
            v.transpose(1, 2),
            attn_mask=mask.unsqueeze(1),
            scale=scale,
            enable_gqa=True,
        ).transpose(1, 2)

    if len(q) == len(page_table):  # one query each, as in every decode batch
        return attend(q.unsqueeze(1), page_table, cache_seqlens).flatten(0, 1)
    requests_with: dict[int, list[int]] = {}  # number of queries -> requests, which run together
    for i, (start, end) in enumerate(pairwise(cu_seqlens_q.tolist())):
        requests_with.setdefault(end - start, []).append(i)
    out = torch.empty_like(q)
    for n, requests in requests_with.items():
        rows = torch.tensor(requests, device=device)
        lengths = cache_seqlens[rows]
        tokens = cu_seqlens_q[rows].view(-1, 1) + torch.arange(n, device=device)
        out[tokens] = attend(q[tokens], page_table[rows, : int(lengths.max())], lengths)
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
        layers = range(kv_cache.num_layers)
        self._k_slots = [kv_cache.k_cache(i).flatten(0, 1) for i in layers]  # [slots, kv_heads, head_dim]
        self._v_slots = [kv_cache.v_cache(i).flatten(0, 1) for i in layers]
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
            self._k_slots[layer_id],
            self._v_slots[layer_id],
            metadata.page_table,
            metadata.cu_seqlens_q,
            metadata.cache_seqlens,
            self.scale,
        )
