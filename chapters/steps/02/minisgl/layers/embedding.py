"""From token ids to vectors and back to logits."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ..core import get_global_ctx
from .base import BaseOP


class VocabParallelEmbedding(BaseOP):
    """Table of one vector a token; weight [num_embeddings, embedding_dim]."""

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        self.weight = torch.empty(num_embeddings, embedding_dim)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Ids, int [N], to vectors [N, embedding_dim]."""
        return F.embedding(input_ids, self.weight)


class ParallelLMHead(BaseOP):
    """Logits of the next token. A tied head has no weight of its own and uses the embedding's."""

    def __init__(self, num_embeddings: int, embedding_dim: int, tied: VocabParallelEmbedding | None) -> None:
        self._tied = tied
        if tied is None:
            self.weight = torch.empty(num_embeddings, embedding_dim)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Vectors [N, embedding_dim] of all tokens to logits [requests, num_embeddings].

        Only each request's last token gets logits: at 1,000 tokens and a vocabulary of 151,936 the others
        would cost 600 MB that nobody reads.
        """
        batch = get_global_ctx().batch
        if batch.is_prefill:
            x = x[batch.attn_metadata.get_last_indices(batch.size)]
        return F.linear(x, self.weight if self._tied is None else self._tied.weight)
