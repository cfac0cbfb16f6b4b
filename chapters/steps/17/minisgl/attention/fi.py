"""Attention by FlashInfer (https://github.com/flashinfer-ai/flashinfer): planned once a batch, run a layer.

Kernels are compiled at their first use, which takes 10 to 30 seconds each and is remembered on disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..core import Batch
from ..kvcache import BaseKVCachePool
from ..utils import cdiv
from .base import BaseAttnBackend, BaseAttnMetadata
from .utils import flat_pages, seqlen_metadata, to_device

_WORKSPACE_BYTES = 128 * 2**20  # what FlashInfer recommends: partial results of split keys


@dataclass
class FIMetadata(BaseAttnMetadata):
    """A plan's inputs; `wrapper` is None until the plan is made."""

    cu_seqlens_q: torch.Tensor  # int32 [B + 1], CPU
    indptr: torch.Tensor  # int32 [B + 1], CPU: pages of each request
    pages: torch.Tensor  # int32 [indptr[B]], device
    last_page_len: torch.Tensor  # int32 [B], CPU: tokens in each request's last page
    last_indices: torch.Tensor  # int64 [B], device
    is_decode: bool
    wrapper: Any = None

    def get_last_indices(self, bs: int) -> torch.Tensor:
        return self.last_indices[:bs]


class FlashInferBackend(BaseAttnBackend):
    """Prefill and decode."""

    def __init__(
        self, kv_cache: BaseKVCachePool, page_table: torch.Tensor, num_qo_heads: int, head_dim: int
    ) -> None:
        try:
            import flashinfer
        except ImportError as error:
            raise ImportError(
                "FlashInfer cannot be imported: install flashinfer-python, or choose another"
                " attention_backend"
            ) from error

        self.kv_cache = kv_cache
        self.page_table = page_table
        self.device = page_table.device
        _, self.page_size, self.num_kv_heads, _ = kv_cache.k_cache(0).shape
        self.num_qo_heads, self.head_dim = num_qo_heads, head_dim
        # Tensor cores pay off when enough queries share a key. FlashInfer's own threshold.
        self.use_tensor_cores = num_qo_heads // self.num_kv_heads >= 4
        self._workspace = torch.empty(_WORKSPACE_BYTES, dtype=torch.uint8, device=self.device)
        self._prefill_wrapper = flashinfer.BatchPrefillWithPagedKVCacheWrapper(self._workspace, "NHD")
        self._decode_wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
            self._workspace, "NHD", use_tensor_cores=self.use_tensor_cores
        )
        self._plan_copied = torch.cuda.Event() if self.device.type == "cuda" else None

    def prepare_metadata(self, batch: Batch) -> None:
        reqs = batch.padded_reqs
        cu_seqlens_q, _, last_indices = seqlen_metadata(reqs)
        rows = to_device(torch.tensor([req.table_idx for req in reqs]), self.device)
        lengths = [req.device_len for req in reqs]
        indptr, pages = flat_pages(self.page_table, rows, lengths, self.page_size)
        last_page_len = [length - (cdiv(length, self.page_size) - 1) * self.page_size for length in lengths]
        batch.attn_metadata = FIMetadata(
            cu_seqlens_q=cu_seqlens_q,
            indptr=indptr,
            pages=pages,
            last_page_len=torch.tensor(last_page_len, dtype=torch.int32),
            last_indices=to_device(last_indices, self.device),
            is_decode=batch.is_decode,
        )

    def attend(self, q: torch.Tensor, layer_id: int, batch: Batch) -> torch.Tensor:
        metadata = batch.attn_metadata
        assert isinstance(metadata, FIMetadata)
        if metadata.wrapper is None:
            # Not in prepare_metadata: that may run while the batch before, whose plan it would overwrite,
            # still computes. Here it comes behind that batch on the same stream.
            self._plan(metadata)
        cache = (self.kv_cache.k_cache(layer_id), self.kv_cache.v_cache(layer_id))
        return metadata.wrapper.run(q, cache)

    def _plan(self, metadata: FIMetadata) -> None:
        """Let FlashInfer divide the batch's work among the GPU's processors."""
        shared: dict[str, Any] = {
            "num_qo_heads": self.num_qo_heads,
            "num_kv_heads": self.num_kv_heads,
            "page_size": self.page_size,
            "q_data_type": self.kv_cache.dtype,
            "kv_data_type": self.kv_cache.dtype,
        }
        pages = (metadata.indptr, metadata.pages, metadata.last_page_len)
        if self._plan_copied is not None:
            # A plan is written on the CPU and copied later. The next one must not overwrite it before.
            self._plan_copied.synchronize()
        if metadata.is_decode:
            metadata.wrapper = self._decode_wrapper
            metadata.wrapper.plan(*pages, head_dim=self.head_dim, **shared)
        else:
            metadata.wrapper = self._prefill_wrapper
            metadata.wrapper.plan(
                metadata.cu_seqlens_q, *pages, head_dim_qk=self.head_dim, causal=True, **shared
            )
        if self._plan_copied is not None:
            self._plan_copied.record()
