"""Attention in plain torch: the reference for every other backend, and fast enough to serve on a CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F

from ..core import Batch
from ..kvcache import BaseKVCachePool
from .base import BaseAttnBackend, BaseAttnMetadata
from .utils import merge_states, seqlen_metadata, to_device

# Most entries of one mask. The mask, and on some devices the scores, are quadratic in the length: 64 MB as
# float32 a head and no more, however long the prompt is.
_MASK_ENTRIES = 2**24


def _blocks(queries: int, entries: int) -> Iterator[slice]:
    """Cut the queries so that no mask is too large; each of them takes this many entries."""
    size = max(1, _MASK_ENTRIES // entries)
    return (slice(start, start + size) for start in range(0, queries, size))


def _joined(blocks: list[torch.Tensor]) -> torch.Tensor:
    """What `_blocks` has cut, [R, queries, ...]; as a rule there is one, and nothing to copy."""
    return blocks[0] if len(blocks) == 1 else torch.cat(blocks, dim=1)


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
        n, keys, visible = q.shape[1], table.shape[1], lengths.view(-1, 1, 1)
        if n > 1:  # the queries are the last positions: only the last of them sees every key
            visible = visible - torch.arange(n - 1, -1, -1, device=device).view(-1, 1)
        position = torch.arange(keys, device=device)
        # What is undefined points to the request's own first token instead: a place that exists.
        locations = torch.where(position < lengths.view(-1, 1), table, table[:, :1]).flatten()
        k = k_cache.index_select(0, locations).view(*table.shape, *k_cache.shape[1:]).transpose(1, 2)
        v = v_cache.index_select(0, locations).view(*table.shape, *v_cache.shape[1:]).transpose(1, 2)
        out = []
        for block in _blocks(n, len(q) * keys):
            mask = (position < visible[:, block]).unsqueeze(1)  # [R, 1, queries, keys]
            attended = F.scaled_dot_product_attention(
                q[:, block].transpose(1, 2), k, v, attn_mask=mask, scale=scale, enable_gqa=True
            )
            out.append(attended.transpose(1, 2))
        return _joined(out)

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


def split_attention(
    q: torch.Tensor,
    k_cache: torch.Tensor,
    v_cache: torch.Tensor,
    page_table: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cache_seqlens: torch.Tensor,
    scale: float,
    num_splits: int,
) -> torch.Tensor:
    """What `paged_attention` computes, with each request's keys cut into `num_splits` parts that are merged.

    A GPU works on the parts at the same time. Here they only show that the parts give the whole.
    """
    group = q.shape[1] // k_cache.shape[1]
    out = torch.empty_like(q)
    for i, (start, end) in enumerate(pairwise(cu_seqlens_q.tolist())):
        queries, keys = q[start:end].float(), int(cache_seqlens[i])
        position = torch.arange(keys, device=q.device)
        visible = position < keys - torch.arange(end - start - 1, -1, -1, device=q.device).view(-1, 1)
        o = torch.zeros_like(queries)
        lse = queries.new_full(queries.shape[:2], -torch.inf)
        for part in position.tensor_split(num_splits):
            locations = page_table[i, part]
            k = k_cache[locations].float().repeat_interleave(group, dim=1)
            v = v_cache[locations].float().repeat_interleave(group, dim=1)
            scores = torch.einsum("qhd,khd->qhk", queries, k) * scale
            scores = scores.masked_fill(~visible[:, None, part], -torch.inf)
            part_lse = scores.logsumexp(dim=-1)
            weights = (scores - part_lse.unsqueeze(-1)).exp().nan_to_num(0.0)  # NaN: no key is visible
            o, lse = merge_states(o, lse, torch.einsum("qhk,khd->qhd", weights, v), part_lse)
        out[start:end] = o.to(q.dtype)
    return out


@dataclass
class TorchMetadata(BaseAttnMetadata):
    page_table: torch.Tensor  # int32 [B, longest], the batch's rows only
    cu_seqlens_q: torch.Tensor  # int32 [B + 1]
    cache_seqlens: torch.Tensor  # int32 [B]
    last_indices: torch.Tensor  # int64 [B]

    def get_last_indices(self, bs: int) -> torch.Tensor:
        return self.last_indices[:bs]


class TorchBackend(BaseAttnBackend):
    """Works on every device that torch has.

    `num_splits` above 1 computes attention in that many parts of the keys, slowly: to see that it can be
    done.
    """

    def __init__(
        self, kv_cache: BaseKVCachePool, page_table: torch.Tensor, head_dim: int, num_splits: int = 1
    ) -> None:
        self.kv_cache = kv_cache
        layers = range(kv_cache.num_layers)
        self._k_slots = [kv_cache.k_cache(i).flatten(0, 1) for i in layers]  # [slots, kv_heads, head_dim]
        self._v_slots = [kv_cache.v_cache(i).flatten(0, 1) for i in layers]
        self.page_table = page_table
        self.scale = head_dim**-0.5
        self.num_splits = num_splits

    def prepare_metadata(self, batch: Batch) -> None:
        device = self.page_table.device
        reqs = batch.padded_reqs
        cu_seqlens_q, cache_seqlens, last_indices = seqlen_metadata(reqs)
        rows = to_device(torch.tensor([req.table_idx for req in reqs]), device)
        longest = max(req.device_len for req in reqs)
        batch.attn_metadata = TorchMetadata(
            page_table=self.page_table[:, :longest].index_select(0, rows),
            cu_seqlens_q=to_device(cu_seqlens_q, device),
            cache_seqlens=to_device(cache_seqlens, device),
            last_indices=to_device(last_indices, device),
        )

    def attend(self, q: torch.Tensor, layer_id: int, batch: Batch) -> torch.Tensor:
        metadata = batch.attn_metadata
        assert isinstance(metadata, TorchMetadata)
        arguments = (
            q,
            self._k_slots[layer_id],
            self._v_slots[layer_id],
            metadata.page_table,
            metadata.cu_seqlens_q,
            metadata.cache_seqlens,
            self.scale,
        )
        if self.num_splits > 1:
            return split_attention(*arguments, self.num_splits)
        return paged_attention(*arguments)

    def init_capture_graph(self, max_seq_len: int, bs_list: Sequence[int]) -> None:
        size, device = max(bs_list), self.page_table.device
        self._graph_tables = torch.zeros((size, max_seq_len), dtype=torch.int32, device=device)
        self._graph_seqlens = torch.ones(size, dtype=torch.int32, device=device)
        self._graph_range = torch.arange(size + 1, device=device)

    def prepare_for_capture(self, batch: Batch) -> None:
        size = batch.padded_size
        batch.attn_metadata = TorchMetadata(
            page_table=self._graph_tables[:size],
            cu_seqlens_q=self._graph_range[: size + 1].int(),
            cache_seqlens=self._graph_seqlens[:size],
            last_indices=self._graph_range[:size],
        )

    def prepare_for_replay(self, batch: Batch) -> None:
        metadata = batch.attn_metadata
        assert isinstance(metadata, TorchMetadata)
        size, longest = metadata.page_table.shape
        # Columns past the longest keep what they had: `cache_seqlens` masks them.
        self._graph_tables[:size, :longest] = metadata.page_table
        self._graph_seqlens[:size] = metadata.cache_seqlens
