"""Attention of decode batches by the engine's own kernel, which reads the page table itself: no plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from .. import kernel
from ..core import Batch
from ..kvcache import BaseKVCachePool
from .base import BaseAttnBackend, BaseAttnMetadata, HeadTransform
from .utils import to_device


@dataclass
class TritonMetadata(BaseAttnMetadata):
    lengths: torch.Tensor  # int32 [2, B]: rows of the page table, and tokens up to and including the newest
    last_indices: torch.Tensor  # int64 [B]

    def get_last_indices(self, bs: int) -> torch.Tensor:
        return self.last_indices[:bs]


class TritonBackend(BaseAttnBackend):
    """Decode only: one query a request. Another backend does prefill (see HybridBackend)."""

    def __init__(self, kv_cache: BaseKVCachePool, page_table: torch.Tensor, head_dim: int) -> None:
        self.kv_cache = kv_cache
        layers = range(kv_cache.num_layers)
        self._k_slots = [kv_cache.k_cache(i).flatten(0, 1) for i in layers]  # [slots, kv_heads, head_dim]
        self._v_slots = [kv_cache.v_cache(i).flatten(0, 1) for i in layers]
        self.page_table = page_table
        self.scale = head_dim**-0.5
        self._range = torch.arange(len(page_table), device=page_table.device)

    def prepare_metadata(self, batch: Batch) -> None:
        reqs, lengths = batch.padded_reqs, batch.lengths
        if lengths is None:
            host = torch.tensor(
                [[req.table_idx for req in reqs], [req.device_len for req in reqs]], dtype=torch.int32
            )
            lengths = to_device(host, self.page_table.device)
        batch.attn_metadata = TritonMetadata(lengths, self._range[: len(reqs)])

    def attend(self, q: torch.Tensor, layer_id: int, batch: Batch) -> torch.Tensor:
        metadata = batch.attn_metadata
        assert isinstance(metadata, TritonMetadata)
        rows, cache_seqlens = metadata.lengths
        return kernel.decode_attention(
            q,
            self._k_slots[layer_id],
            self._v_slots[layer_id],
            self.page_table,
            rows,
            cache_seqlens,
            self.scale,
        )

    def forward_qkv(
        self, qkv: torch.Tensor, heads: HeadTransform, layer_id: int, batch: Batch
    ) -> torch.Tensor:
        if batch.padded_size > kernel.MAX_SMALL_BATCH:  # one kernel less would save less than it costs
            return super().forward_qkv(qkv, heads, layer_id, batch)
        metadata = batch.attn_metadata
        assert isinstance(metadata, TritonMetadata)
        rows, cache_seqlens = metadata.lengths
        return kernel.fused_decode_attention(
            qkv,
            heads.q_weight,
            heads.k_weight,
            heads.eps,
            heads.cos_sin,
            self._k_slots[layer_id],
            self._v_slots[layer_id],
            self.page_table,
            rows,
            cache_seqlens,
            self.scale,
            heads.num_qo_heads,
            heads.num_kv_heads,
        )

    def init_capture_graph(self, max_seq_len: int, bs_list: Sequence[int]) -> None:
        size, device = max(bs_list), self.page_table.device
        if device.type == "cuda" and not kernel.use_triton(self.page_table):
            raise ValueError(
                "MINISGL_KERNELS=torch leaves decode attention to torch, which cannot be in a CUDA graph:"
                " choose attention_backend 'torch' or 'fi', or cuda_graph_max_bs 0"
            )
        self._graph_lengths = torch.ones((2, size), dtype=torch.int32, device=device)  # rows and lengths

    def prepare_for_capture(self, batch: Batch) -> None:
        size = batch.padded_size
        self._graph_lengths[0, :size] = batch.padded_reqs[0].table_idx
        batch.attn_metadata = TritonMetadata(self._graph_lengths[:, :size], self._range[:size])

    def prepare_for_replay(self, batch: Batch) -> None:
        metadata = batch.attn_metadata
        assert isinstance(metadata, TritonMetadata)
        self._graph_lengths[:, : batch.padded_size] = metadata.lengths
