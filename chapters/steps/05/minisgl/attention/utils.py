"""Metadata that every backend needs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch

from ..core import Req


def seqlen_metadata(reqs: Sequence[Req]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Where each request's queries are in the batch's row, and how many keys they face.

    Returns:
        cu_seqlens_q, int32 [B + 1]: request i has the queries from cu[i] up to cu[i + 1];
        cache_seqlens, int32 [B]: keys of request i, this step's included;
        last_indices, int64 [B]: its last query, the only one that needs logits.

    Raises:
        ValueError: a request computes no token, so that its "last" one would be its neighbour's.
    """
    lengths = [req.extend_len for req in reqs]
    if any(length < 1 for length in lengths):
        raise ValueError(f"every request must compute at least one token, not {lengths}")
    cu_seqlens_q = torch.tensor([0, *accumulate(lengths)], dtype=torch.int32)
    cache_seqlens = torch.tensor([req.device_len for req in reqs], dtype=torch.int32)
    return cu_seqlens_q, cache_seqlens, cu_seqlens_q[1:].long() - 1
