"""Metadata that every backend needs, and arithmetic that several share."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import torch

from ..core import Req
from ..utils import cdiv


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


def merge_states(
    o1: torch.Tensor, lse1: torch.Tensor, o2: torch.Tensor, lse2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attention over two sets of keys, from attention over each.

    Each part counts by the sum of its exp(scores), whose logarithm is given: as in the second pass of Flash
    Decoding (https://crfm.stanford.edu/2023/10/12/flashdecoding.html).

    Args:
        o1, o2: [N, heads, head_dim], zero where there were no keys.
        lse1, lse2: [N, heads], log of the sum of exp(scores); -inf for no keys.

    Returns:
        o [N, heads, head_dim] and lse [N, heads] over both; 0 and -inf where both are without keys.
    """
    largest = torch.maximum(lse1, lse2)
    shift = largest.masked_fill(largest == -torch.inf, 0.0)  # no keys at all: -inf - -inf would be NaN
    weight1, weight2 = torch.exp(lse1 - shift), torch.exp(lse2 - shift)
    total = weight1 + weight2
    lse = total.log() + shift
    total = total.masked_fill(total == 0, 1.0)
    o = o1 * (weight1 / total).unsqueeze(-1) + o2 * (weight2 / total).unsqueeze(-1)
    return o.to(o1.dtype), lse


def to_device(host: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A copy on the device, made without waiting for what the device is doing."""
    if device.type != "cuda":
        return host.to(device)
    return host.pin_memory().to(device, non_blocking=True)


def flat_pages(
    page_table: torch.Tensor, rows: torch.Tensor, lengths: Sequence[int], page_size: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The pages of several requests, one request after the other. Nothing is waited for.

    Args:
        page_table: int32 [rows, W], token locations.
        rows: int64 [B], each request's row, on the table's device.
        lengths: tokens of each request.

    Returns:
        indptr, int32 [B + 1] on the CPU: request i has the pages from indptr[i] up to indptr[i + 1];
        pages, int32 [indptr[B]] on the table's device. With page_size 1 these are token locations.
    """
    counts = [cdiv(length, page_size) for length in lengths]
    indptr = torch.tensor([0, *accumulate(counts)], dtype=torch.int32)
    device, total = page_table.device, int(indptr[-1])
    starts_and_counts = to_device(torch.stack((indptr[:-1], indptr.diff())).long(), device)
    starts, repeats = starts_and_counts.unbind(0)
    # `output_size` is what keeps repeat_interleave from asking the device.
    owner = torch.repeat_interleave(torch.stack((rows, starts)), repeats, dim=1, output_size=total)
    columns = (torch.arange(total, device=device) - owner[1]) * page_size
    locations = page_table[owner[0], columns]
    return indptr, locations if page_size == 1 else locations // page_size
