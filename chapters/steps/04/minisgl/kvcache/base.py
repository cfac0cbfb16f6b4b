"""The contract of the KV pool, which stores keys and values."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch


class BaseKVCachePool(ABC):
    """Memory for the keys and values of every layer, in pages of a fixed number of tokens."""

    @abstractmethod
    def k_cache(self, index: int) -> torch.Tensor:
        """Keys of layer `index`, a view [pages, page_size, kv_heads, head_dim]."""

    @abstractmethod
    def v_cache(self, index: int) -> torch.Tensor:
        """Values of layer `index`, a view [pages, page_size, kv_heads, head_dim]."""

    @abstractmethod
    def store_kv(self, k: torch.Tensor, v: torch.Tensor, out_loc: torch.Tensor, layer_id: int) -> None:
        """Write keys and values [N, kv_heads, head_dim] to the token locations `out_loc`, int [N]."""

    @property
    @abstractmethod
    def device(self) -> torch.device: ...

    @property
    @abstractmethod
    def dtype(self) -> torch.dtype: ...

    @property
    @abstractmethod
    def num_layers(self) -> int: ...
