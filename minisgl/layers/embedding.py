"""From token ids to vectors and back to logits."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ..core import get_global_ctx
from ..distributed import DistributedCommunicator, get_tp_info
from ..utils import cdiv
from .base import BaseOP


def merge_gathered_logits(gathered: torch.Tensor, tp_size: int, vocab_size: int) -> torch.Tensor:
    """Put the logits of all ranks, of B requests each, side by side.

    Args:
        gathered: [tp_size * B, part], rank after rank; each rank has the next `part` of the vocabulary, and
            the last ones may have padding behind it.

    Returns:
        [B, vocab_size].
    """
    part = gathered.shape[-1]
    by_request = gathered.view(tp_size, -1, part).transpose(0, 1)
    return by_request.reshape(-1, tp_size * part)[:, :vocab_size]


class VocabParallelEmbedding(BaseOP):
    """Table of one vector a token. Each rank has a range of the vocabulary: weight [rows, embedding_dim] with
    num_embeddings / ranks rows, rounded up.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int) -> None:
        info = get_tp_info()
        rows = cdiv(num_embeddings, info.size)
        self.weight = torch.empty(rows, embedding_dim)
        self._first_id = info.rank * rows
        self._comm = DistributedCommunicator()

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Ids, int [N], to vectors [N, embedding_dim]."""
        if self._comm.size == 1:
            return F.embedding(input_ids, self.weight)
        rows = input_ids - self._first_id
        elsewhere = (rows < 0) | (rows >= len(self.weight))
        vectors = F.embedding(rows.masked_fill(elsewhere, 0), self.weight)
        # One rank has the vector, the others add zeros.
        return self._comm.all_reduce(vectors.masked_fill_(elsewhere.unsqueeze(1), 0))


class ParallelLMHead(BaseOP):
    """Logits of the next token. A tied head has no weight of its own and uses the embedding's."""

    def __init__(self, num_embeddings: int, embedding_dim: int, tied: VocabParallelEmbedding | None) -> None:
        self._tied = tied
        self._vocab_size = num_embeddings
        self._comm = DistributedCommunicator()
        if tied is None:
            self.weight = torch.empty(cdiv(num_embeddings, self._comm.size), embedding_dim)

    @property
    def matrix(self) -> torch.Tensor:
        """What vectors are multiplied with: [rows, embedding_dim]."""
        return self.weight if self._tied is None else self._tied.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Vectors [N, embedding_dim] of all tokens to logits [requests, num_embeddings].

        Only each request's last token gets logits: at 1,000 tokens and a vocabulary of 151,936 the others
        would cost 600 MB that nobody reads.
        """
        batch = get_global_ctx().batch
        if batch.is_prefill:
            x = x[batch.attn_metadata.get_last_indices(batch.size)]
        logits = F.linear(x, self.matrix)
        if self._comm.size == 1:
            return logits
        return merge_gathered_logits(self._comm.all_gather(logits), self._comm.size, self._vocab_size)
