"""Attention backends."""

from __future__ import annotations

import torch

from ..kvcache import BaseKVCachePool
from .base import BaseAttnBackend, BaseAttnMetadata, HybridBackend
from .torch_backend import TorchBackend, paged_attention
from .utils import merge_states, seqlen_metadata

ATTENTION_BACKENDS = ("auto", "torch", "fi", "fa")
_HALF = (torch.float16, torch.bfloat16)


def split_backend_name(name: str) -> tuple[str, str]:
    """The names of the prefill and the decode backend: "fa,fi" names both, "fa" stands for "fa,fa".

    Raises:
        ValueError: there is none of that name.
    """
    parts = name.split(",") if isinstance(name, str) else []
    if len(parts) not in (1, 2) or not set(parts) <= set(ATTENTION_BACKENDS):
        raise ValueError(
            f"attention_backend must be one of {', '.join(ATTENTION_BACKENDS)}, or two of them as"
            f" 'PREFILL,DECODE', not {name!r}"
        )
    return parts[0], parts[-1]


def create_attention_backend(
    name: str, *, kv_cache: BaseKVCachePool, page_table: torch.Tensor, num_qo_heads: int, head_dim: int
) -> BaseAttnBackend:
    """Make a backend by name; "auto" takes the fastest one that the device and the installed packages allow.

    Raises:
        ImportError: the backend's package is not installed.
        ValueError: there is none of that name, or it cannot compute in the pool's dtype.
    """
    prefill_name, decode_name = split_backend_name(name)
    if prefill_name == "auto":
        prefill_name = _fastest_prefill(kv_cache)
    if decode_name == "auto":
        decode_name = "torch"

    def create(name: str) -> BaseAttnBackend:
        if name == "fi":
            from .fi import FlashInferBackend

            return FlashInferBackend(kv_cache, page_table, num_qo_heads, head_dim)
        if name == "fa":
            from .fa import FlashAttentionBackend

            return FlashAttentionBackend(kv_cache, page_table, head_dim)
        return TorchBackend(kv_cache, page_table, head_dim)

    if prefill_name == decode_name:
        return create(prefill_name)
    return HybridBackend(create(prefill_name), create(decode_name))


def _fastest_prefill(kv_cache: BaseKVCachePool) -> str:
    if kv_cache.device.type != "cuda" or kv_cache.dtype not in _HALF:
        return "torch"
    from .fa import find_flash_attention

    try:
        find_flash_attention()
    except ImportError:
        return "torch"
    return "fa"


__all__ = [
    "ATTENTION_BACKENDS",
    "BaseAttnBackend",
    "BaseAttnMetadata",
    "HybridBackend",
    "TorchBackend",
    "create_attention_backend",
    "merge_states",
    "paged_attention",
    "seqlen_metadata",
    "split_backend_name",
]
