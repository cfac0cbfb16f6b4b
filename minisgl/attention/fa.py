"""Attention by FlashAttention (https://github.com/Dao-AILab/flash-attention), by the package there is."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch

from ..core import Batch
from ..kvcache import BaseKVCachePool
from .base import BaseAttnBackend, BaseAttnMetadata
from .utils import flat_pages, seqlen_metadata, to_device


def page_ids(page_table: torch.Tensor, rows: torch.Tensor, max_len: int, page_size: int) -> torch.Tensor:
    """The table as FlashAttention wants it: page numbers instead of token locations.

    Args:
        page_table: int32 [rows, W], token locations.
        rows: int64 [B], each request's row.
        max_len: tokens of the longest request.

    Returns:
        int32 [B, ceil(max_len / page_size)]; undefined past a request's pages.
    """
    return page_table[:, :max_len:page_size].index_select(0, rows) // page_size


@dataclass
class FAMetadata(BaseAttnMetadata):
    cu_seqlens_q: torch.Tensor  # int32 [B + 1]
    cache_seqlens: torch.Tensor  # int32 [B]
    max_seqlen_q: int
    max_seqlen_k: int
    last_indices: torch.Tensor  # int64 [B]
    page_table: torch.Tensor | None = None  # int32 [B, pages], for a kernel that reads pages
    # for a kernel that does not: every token of every request
    locations: torch.Tensor | None = None  # int32 [sum of cache_seqlens]
    cu_seqlens_k: torch.Tensor | None = None  # int32 [B + 1]

    def get_last_indices(self, bs: int) -> torch.Tensor:
        return self.last_indices[:bs]


# q [N, heads, head_dim], k and v (pages or tokens), metadata, scale -> [N, heads, head_dim]
_Kernel = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, FAMetadata, float], torch.Tensor]


def _fa3(package: Any) -> _Kernel:
    """FlashAttention 3 (Hopper) reads pages of any size. Two packages have it under one signature."""

    def attend(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, metadata: FAMetadata, scale: float
    ) -> torch.Tensor:
        return package.flash_attn_with_kvcache(
            q,
            k,
            v,
            cache_seqlens=metadata.cache_seqlens,
            page_table=metadata.page_table,
            cu_seqlens_q=metadata.cu_seqlens_q,
            max_seqlen_q=metadata.max_seqlen_q,
            softmax_scale=scale,
            causal=True,
        )

    return attend


def _fa2(package: Any) -> _Kernel:
    """FlashAttention 2 wants pages of 256 tokens, so it gets each request's tokens side by side instead."""

    def attend(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, metadata: FAMetadata, scale: float
    ) -> torch.Tensor:
        return package.flash_attn_varlen_func(
            q,
            k,
            v,
            cu_seqlens_q=metadata.cu_seqlens_q,
            cu_seqlens_k=metadata.cu_seqlens_k,
            max_seqlen_q=metadata.max_seqlen_q,
            max_seqlen_k=metadata.max_seqlen_k,
            softmax_scale=scale,
            causal=True,
        )

    return attend


def _torch_fa2(package: Any) -> _Kernel:
    """The FlashAttention 2 that torch carries."""
    varlen_attn = package.varlen_attn
    names = inspect.signature(varlen_attn).parameters
    # torch 2.11 shares KV heads without being told to
    options = {"enable_gqa": True} if "enable_gqa" in names else {}

    def attend(
        q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, metadata: FAMetadata, scale: float
    ) -> torch.Tensor:
        return varlen_attn(
            q,
            k,
            v,
            metadata.cu_seqlens_q,
            metadata.cu_seqlens_k,
            metadata.max_seqlen_q,
            metadata.max_seqlen_k,
            scale=scale,
            window_size=(-1, 0),  # causal, the last query seeing the last key
            **options,
        )

    return attend


@dataclass(frozen=True)
class _Package:
    module: str
    reads_pages: bool
    adapt: Callable[[Any], _Kernel]


_PACKAGES = (  # in order of preference
    _Package("flash_attn_interface", True, _fa3),
    _Package("sgl_kernel.flash_attn", True, _fa3),
    _Package("flash_attn", False, _fa2),
    _Package("torch.nn.attention.varlen", False, _torch_fa2),
)


def find_flash_attention() -> tuple[str, bool, _Kernel]:
    """The first package that imports: its name, whether it reads pages, and its kernel.

    Raises:
        ImportError: none does; the message says what was tried.
    """
    failures = []
    for package in _PACKAGES:
        try:
            return package.module, package.reads_pages, package.adapt(import_module(package.module))
        except (ImportError, AttributeError, OSError, RuntimeError) as error:
            failures.append(f"{package.module}: {error}")  # not there, or made for another torch or GPU
    raise ImportError(
        "no package with FlashAttention can be imported: install flash-attn-3 or flash-attn, or choose"
        f" another attention_backend. Tried {'; '.join(failures)}"
    )


class FlashAttentionBackend(BaseAttnBackend):
    """Prefill and decode in one kernel. FlashAttention computes in half precision only."""

    def __init__(self, kv_cache: BaseKVCachePool, page_table: torch.Tensor, head_dim: int) -> None:
        if kv_cache.dtype not in (torch.float16, torch.bfloat16):
            raise ValueError(
                f"FlashAttention computes in float16 or bfloat16, not {kv_cache.dtype}: choose another dtype,"
                " or attention_backend 'torch'"
            )
        self.package, self._reads_pages, self._kernel = find_flash_attention()
        self.kv_cache = kv_cache
        layers = range(kv_cache.num_layers)
        self._k_slots = [kv_cache.k_cache(i).flatten(0, 1) for i in layers]  # [slots, kv_heads, head_dim]
        self._v_slots = [kv_cache.v_cache(i).flatten(0, 1) for i in layers]
        self.page_table = page_table
        self.device = page_table.device
        self.page_size = kv_cache.k_cache(0).shape[1]
        self.scale = head_dim**-0.5

    def prepare_metadata(self, batch: Batch) -> None:
        reqs = batch.padded_reqs
        cu_seqlens_q, cache_seqlens, last_indices = seqlen_metadata(reqs)
        rows = to_device(torch.tensor([req.table_idx for req in reqs]), self.device)
        metadata = FAMetadata(
            cu_seqlens_q=to_device(cu_seqlens_q, self.device),
            cache_seqlens=to_device(cache_seqlens, self.device),
            max_seqlen_q=max(req.extend_len for req in reqs),
            max_seqlen_k=max(req.device_len for req in reqs),
            last_indices=to_device(last_indices, self.device),
        )
        if self._reads_pages:
            metadata.page_table = page_ids(self.page_table, rows, metadata.max_seqlen_k, self.page_size)
        else:
            lengths = [req.device_len for req in reqs]
            indptr, metadata.locations = flat_pages(self.page_table, rows, lengths, page_size=1)
            metadata.cu_seqlens_k = to_device(indptr, self.device)
        batch.attn_metadata = metadata

    def attend(self, q: torch.Tensor, layer_id: int, batch: Batch) -> torch.Tensor:
        metadata = batch.attn_metadata
        assert isinstance(metadata, FAMetadata)
        if metadata.locations is None:
            k, v = self.kv_cache.k_cache(layer_id), self.kv_cache.v_cache(layer_id)
        else:
            k = self._k_slots[layer_id].index_select(0, metadata.locations)
            v = self._v_slots[layer_id].index_select(0, metadata.locations)
        return self._kernel(q, k, v, metadata, self.scale)

    def init_capture_graph(self, max_seq_len: int, bs_list: Sequence[int]) -> None:
        if not self._reads_pages:
            raise ValueError(
                f"{self.package} reads no pages, so its decode cannot be in a CUDA graph: choose"
                " attention_backend 'fa,triton' or 'fa,fi', or cuda_graph_max_bs 0"
            )
        size, pages = max(bs_list), -(-max_seq_len // self.page_size)
        self._max_seq_len = max_seq_len
        self._graph_tables = torch.zeros((size, pages), dtype=torch.int32, device=self.device)
        self._graph_seqlens = torch.ones(size, dtype=torch.int32, device=self.device)
        self._graph_range = torch.arange(size + 1, dtype=torch.int32, device=self.device)

    def prepare_for_capture(self, batch: Batch) -> None:
        size = batch.padded_size
        batch.attn_metadata = FAMetadata(
            cu_seqlens_q=self._graph_range[: size + 1],
            cache_seqlens=self._graph_seqlens[:size],
            max_seqlen_q=1,
            max_seqlen_k=self._max_seq_len,
            last_indices=self._graph_range[:size].long(),
            page_table=self._graph_tables[:size],
        )

    def prepare_for_replay(self, batch: Batch) -> None:
        metadata = batch.attn_metadata
        assert isinstance(metadata, FAMetadata) and metadata.page_table is not None
        size, pages = metadata.page_table.shape
        self._graph_tables[:size, :pages] = metadata.page_table
        self._graph_seqlens[:size] = metadata.cache_seqlens
