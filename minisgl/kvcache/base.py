"""The contracts of the KV pool, which stores KV, and of the prefix cache, which remembers where it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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


@dataclass(frozen=True)
class BaseCacheHandle(ABC):
    """A prefix that is in the cache, as found by one walk."""

    cached_len: int  # tokens of the prefix

    @abstractmethod
    def get_matched_indices(self) -> torch.Tensor:
        """Token locations of the prefix, int32 [cached_len]. Reliable only while the handle is locked."""

    def last_location(self) -> int | None:
        """Where the last token of the prefix lies, for a trace; None when it is empty."""
        return None


class SizeInfo(NamedTuple):
    """Tokens that the cache holds."""

    evictable_size: int  # not in use: `evict` may take them
    protected_size: int  # in use by a locked handle

    @property
    def total_size(self) -> int:
        return self.evictable_size + self.protected_size


class MatchResult(NamedTuple):
    cuda_handle: BaseCacheHandle  # the longest cached prefix; the name is the official engine's


class InsertResult(NamedTuple):
    cached_len: int  # tokens that the cache already held: the caller's copy of them is not taken over
    handle: BaseCacheHandle  # the prefix that is cached now, not locked


class BasePrefixCache(ABC):
    """Which token sequences have their KV in the pool, and where. It never touches the pool itself."""

    @abstractmethod
    def match_prefix(self, input_ids: torch.Tensor) -> MatchResult:
        """Find the longest cached prefix of `input_ids`, int32 [n].

        The result must be locked before anything is evicted, or its locations may get another owner.
        """

    @abstractmethod
    def insert_prefix(self, input_ids: torch.Tensor, indices: torch.Tensor) -> InsertResult:
        """Remember that the KV of `input_ids`, int32 [n], is at the locations `indices`, int32 [n].

        Only whole pages are taken. Where a prefix is cached already, its old locations stay.
        """

    @abstractmethod
    def lock_handle(self, handle: BaseCacheHandle, unlock: bool = False) -> None:
        """Protect a handle's tokens from eviction, or give one such lock back. Locks are counted."""

    @abstractmethod
    def evict(self, size: int) -> torch.Tensor:
        """Forget at least `size` tokens that no lock protects, the least recently used first.

        Returns:
            The freed locations, int32; whole pages, hence maybe more than `size`. Size 0 frees nothing.

        Raises:
            RuntimeError: fewer than `size` tokens are evictable; then nothing has changed.
        """

    @property
    @abstractmethod
    def size_info(self) -> SizeInfo: ...

    @abstractmethod
    def shared_sizes(self, handles: Sequence[BaseCacheHandle]) -> list[int]:
        """How many tokens of each handle would stay protected without its lock and those of the handles that
        come after it in the list. All of them are locked.
        """

    @abstractmethod
    def cached_locations(self) -> torch.Tensor:
        """Every token location that the cache owns, int32 [size_info.total_size], page after page."""

    @abstractmethod
    def check_integrity(self) -> None:
        """Raise RuntimeError if the cache contradicts itself."""

    @abstractmethod
    def reset(self) -> None:
        """Forget everything. RuntimeError when some handle is locked."""
