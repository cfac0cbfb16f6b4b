"""KV storage."""

from __future__ import annotations

import torch

from .base import BaseKVCachePool
from .mha_pool import MHAKVCache


def create_kv_cache(
    *,
    num_layers: int,
    num_kv_heads: int,
    head_dim: int,
    num_pages: int,
    page_size: int,
    dtype: torch.dtype,
    device: torch.device,
) -> BaseKVCachePool:
    """Make the pool of a model: `num_pages` pages and the dummy page behind them."""
    return MHAKVCache(
        num_layers=num_layers,
        num_kv_heads=num_kv_heads,
        head_dim=head_dim,
        num_pages=num_pages,
        page_size=page_size,
        dtype=dtype,
        device=device,
    )


__all__ = ["BaseKVCachePool", "MHAKVCache", "create_kv_cache"]
