"""The KV pool of ordinary multi-head and grouped-query attention."""

from __future__ import annotations

import torch

from .base import BaseKVCachePool


class MHAKVCache(BaseKVCachePool):
    """One buffer `[2, layers, num_pages + 1, page_size, kv_heads, head_dim]` of keys and values.

    The last page is the dummy: padding writes there, and nobody reads it. A token's location is
    `page * page_size + slot`, the same number in every layer.
    """

    def __init__(
        self,
        *,
        num_layers: int,
        num_kv_heads: int,
        head_dim: int,
        num_pages: int,
        page_size: int,
        dtype: torch.dtype,
        device: torch.device,
    ) -> None:
        # Not cleared: memory that no token has come to yet is then not even taken from the system.
        self._kv_buffer = torch.empty(
            (2, num_layers, num_pages + 1, page_size, num_kv_heads, head_dim), dtype=dtype, device=device
        )
        self._k_buffer, self._v_buffer = self._kv_buffer[0], self._kv_buffer[1]
        # The same memory, each layer as [slots, kv_heads, head_dim], which a location indexes directly.
        self._k_slots = self._k_buffer.flatten(1, 2).unbind(0)
        self._v_slots = self._v_buffer.flatten(1, 2).unbind(0)

    @property
    def buffer(self) -> torch.Tensor:
        """The whole memory."""
        return self._kv_buffer

    def k_cache(self, index: int) -> torch.Tensor:
        return self._k_buffer[index]

    def v_cache(self, index: int) -> torch.Tensor:
        return self._v_buffer[index]

    def store_kv(self, k: torch.Tensor, v: torch.Tensor, out_loc: torch.Tensor, layer_id: int) -> None:
        locations = out_loc.long()  # index_copy_ takes nothing else; free of charge where it is int64 already
        self._k_slots[layer_id].index_copy_(0, locations, k)
        self._v_slots[layer_id].index_copy_(0, locations, v)

    @property
    def device(self) -> torch.device:
        return self._kv_buffer.device

    @property
    def dtype(self) -> torch.dtype:
        return self._kv_buffer.dtype

    @property
    def num_layers(self) -> int:
        return self._kv_buffer.shape[1]
