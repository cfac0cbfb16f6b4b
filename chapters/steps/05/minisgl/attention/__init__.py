"""Attention backends."""

from __future__ import annotations

import torch

from ..kvcache import BaseKVCachePool
from .base import BaseAttnBackend, BaseAttnMetadata
from .torch_backend import TorchBackend, paged_attention
from .utils import seqlen_metadata

ATTENTION_BACKENDS = ("auto", "torch")


def create_attention_backend(
    name: str, *, kv_cache: BaseKVCachePool, page_table: torch.Tensor, head_dim: int
) -> BaseAttnBackend:
    """Make a backend by name; "auto" takes the best one for the device.

    Raises:
        ValueError: there is none of that name.
    """
    if name in ("auto", "torch"):
        return TorchBackend(kv_cache, page_table, head_dim)
    raise ValueError(f"attention backend must be one of {', '.join(ATTENTION_BACKENDS)}, not {name!r}")


__all__ = [
    "ATTENTION_BACKENDS",
    "BaseAttnBackend",
    "BaseAttnMetadata",
    "TorchBackend",
    "create_attention_backend",
    "paged_attention",
    "seqlen_metadata",
]
