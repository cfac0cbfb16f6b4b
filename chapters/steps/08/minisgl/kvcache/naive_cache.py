"""The prefix cache that keeps nothing: every request computes its whole prompt."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..utils import trace
from .base import BaseCacheHandle, BasePrefixCache, InsertResult, MatchResult, SizeInfo


@dataclass(frozen=True, eq=False)
class NaiveCacheHandle(BaseCacheHandle):
    """An empty match."""

    indices: torch.Tensor

    def get_matched_indices(self) -> torch.Tensor:
        return self.indices


class NaivePrefixCache(BasePrefixCache):
    """Never hits, never owns a page, never evicts."""

    def __init__(self, device: torch.device) -> None:
        self._empty = torch.empty(0, dtype=torch.int32, device=device)
        self._handle = NaiveCacheHandle(0, self._empty)

    def match_prefix(self, input_ids: torch.Tensor) -> MatchResult:
        trace.emit("match", length=len(input_ids), cached_len=0)
        return MatchResult(self._handle)

    def insert_prefix(self, input_ids: torch.Tensor, indices: torch.Tensor) -> InsertResult:
        trace.emit("insert", length=len(input_ids), cached_len=0, new_len=0, locations=indices)
        return InsertResult(0, self._handle)

    def lock_handle(self, handle: BaseCacheHandle, unlock: bool = False) -> None:
        trace.emit("unlock" if unlock else "lock", cached_len=0)

    def evict(self, size: int) -> torch.Tensor:
        if size > 0:
            raise RuntimeError(f"cannot evict {size} tokens: the naive cache holds none")
        return self._empty

    @property
    def size_info(self) -> SizeInfo:
        return SizeInfo(evictable_size=0, protected_size=0)

    def cached_locations(self) -> torch.Tensor:
        return self._empty

    def check_integrity(self) -> None:
        """There is no state that could be wrong."""

    def reset(self) -> None:
        """There is nothing to forget."""
