"""What an attention backend is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from ..core import Batch


class BaseAttnMetadata(ABC):
    """Lengths and locations of one batch, made once and read by every layer."""

    @abstractmethod
    def get_last_indices(self, bs: int) -> torch.Tensor:
        """Where the last token of each of the first `bs` requests is in the batch's row, int64 [bs]."""


class BaseAttnBackend(ABC):
    """Stores a batch's keys and values in the pool and attends over what is there."""

    @abstractmethod
    def prepare_metadata(self, batch: Batch) -> None:
        """Set `batch.attn_metadata`. The page table's rows, positions and out_loc must be set before."""

    @abstractmethod
    def forward(
        self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, layer_id: int, batch: Batch
    ) -> torch.Tensor:
        """Store k and v [N, kv_heads, head_dim], then attend with q [N, heads, head_dim].

        Stored first, because a token attends to itself and to its batch's earlier tokens, too.

        Returns:
            [N, heads, head_dim] in q's dtype.
        """
