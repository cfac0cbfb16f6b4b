"""KV storage and prefix caches."""

from __future__ import annotations

import torch

from .base import (
    BaseCacheHandle,
    BaseKVCachePool,
    BasePrefixCache,
    InsertResult,
    MatchResult,
    SizeInfo,
)
from .mha_pool import MHAKVCache

PREFIX_CACHE_TYPES = ("naive",)


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


def create_prefix_cache(
    *,
    device: torch.device,
    type: str,  # the official engine's keyword, which the course prints
    page_size: int = 1,
) -> BasePrefixCache:
    """Make a prefix cache: "naive" never finds anything.

    Raises:
        ValueError: there is no such type.
    """
    if type == "naive":
        from .naive_cache import NaivePrefixCache

        return NaivePrefixCache(device=device)
    raise ValueError(f"prefix cache type must be one of {', '.join(PREFIX_CACHE_TYPES)}, not {type!r}")


__all__ = [
    "PREFIX_CACHE_TYPES",
    "BaseCacheHandle",
    "BaseKVCachePool",
    "BasePrefixCache",
    "InsertResult",
    "MHAKVCache",
    "MatchResult",
    "SizeInfo",
    "create_kv_cache",
    "create_prefix_cache",
]
