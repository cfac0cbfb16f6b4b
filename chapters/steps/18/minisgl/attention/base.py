"""What an attention backend is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ..core import Batch
    from ..kvcache import BaseKVCachePool


class BaseAttnMetadata(ABC):
    """Lengths and locations of one batch, made once and read by every layer."""

    @abstractmethod
    def get_last_indices(self, bs: int) -> torch.Tensor:
        """Where the last token of each of the first `bs` requests is in the batch's row, int64 [bs]."""


class BaseAttnBackend(ABC):
    """Stores a batch's keys and values in the pool and attends over what is there."""

    kv_cache: BaseKVCachePool

    @abstractmethod
    def prepare_metadata(self, batch: Batch) -> None:
        """Set `batch.attn_metadata`. The page table's rows, positions and out_loc must be set before."""

    @abstractmethod
    def attend(self, q: torch.Tensor, layer_id: int, batch: Batch) -> torch.Tensor:
        """Attend with q [N, heads, head_dim]; the batch's keys and values are in the pool already.

        Returns:
            [N, heads, head_dim] in q's dtype.
        """

    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer_id: int, batch: Batch
    ) -> torch.Tensor:
        """Store k and v [N, kv_heads, head_dim], then attend with q [N, heads, head_dim].

        Stored first, because a token attends to itself and to its batch's earlier tokens, too.

        Returns:
            [N, heads, head_dim] in q's dtype.
        """
        self.kv_cache.store_kv(k, v, batch.out_loc, layer_id)
        return self.attend(q, layer_id, batch)

    # A graph replays kernels with the addresses that it was captured with. So a backend makes tensors that
    # stay, reads only these while it is captured, and fills them before each replay.

    @abstractmethod
    def init_capture_graph(self, max_seq_len: int, bs_list: Sequence[int]) -> None:
        """Make what the decode graphs of these batch sizes will read. Called once, before any capture."""

    @abstractmethod
    def prepare_for_capture(self, batch: Batch) -> None:
        """Set the metadata of a decode batch that is about to be captured, all of it in tensors that stay."""

    @abstractmethod
    def prepare_for_replay(self, batch: Batch) -> None:
        """Copy a padded batch's metadata to where the graph of its size reads."""


@dataclass
class MixedMetadata(BaseAttnMetadata):
    """Of a batch in which running requests go on beside prompts: each part with metadata of its own."""

    decodes: Batch
    prompts: Batch

    def get_last_indices(self, bs: int) -> torch.Tensor:
        size = self.decodes.size
        ends = self.prompts.attn_metadata.get_last_indices(self.prompts.size)
        return torch.cat((self.decodes.attn_metadata.get_last_indices(size), ends + size))[:bs]


class HybridBackend(BaseAttnBackend):
    """One backend for prefill and another one for decode. A batch that mixes both is cut in two."""

    def __init__(self, prefill_backend: BaseAttnBackend, decode_backend: BaseAttnBackend) -> None:
        self.prefill_backend = prefill_backend
        self.decode_backend = decode_backend
        self.kv_cache = decode_backend.kv_cache

    def prepare_metadata(self, batch: Batch) -> None:
        if batch.is_decode:
            self.decode_backend.prepare_metadata(batch)
        elif batch.num_decodes == 0:
            self.prefill_backend.prepare_metadata(batch)
        else:
            count = batch.num_decodes
            decodes = replace(batch, reqs=batch.reqs[:count], phase="decode", num_decodes=0)
            prompts = replace(batch, reqs=batch.reqs[count:], num_decodes=0)
            self.decode_backend.prepare_metadata(decodes)
            self.prefill_backend.prepare_metadata(prompts)
            batch.attn_metadata = MixedMetadata(decodes, prompts)

    def attend(self, q: torch.Tensor, layer_id: int, batch: Batch) -> torch.Tensor:
        if batch.is_decode:
            return self.decode_backend.attend(q, layer_id, batch)
        metadata = batch.attn_metadata
        if not isinstance(metadata, MixedMetadata):
            return self.prefill_backend.attend(q, layer_id, batch)
        count = metadata.decodes.size
        of_decodes = self.decode_backend.attend(q[:count], layer_id, metadata.decodes)
        of_prompts = self.prefill_backend.attend(q[count:], layer_id, metadata.prompts)
        return torch.cat((of_decodes, of_prompts))

    def init_capture_graph(self, max_seq_len: int, bs_list: Sequence[int]) -> None:
        self.decode_backend.init_capture_graph(max_seq_len, bs_list)

    def prepare_for_capture(self, batch: Batch) -> None:
        self.decode_backend.prepare_for_capture(batch)

    def prepare_for_replay(self, batch: Batch) -> None:
        self.decode_backend.prepare_for_replay(batch)
