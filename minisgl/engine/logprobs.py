"""How likely the model found a token: what clients ask for as `logprobs`."""

from __future__ import annotations

from typing import NamedTuple

import torch


class LogprobArgs(NamedTuple):
    """The requests of a batch that ask for log-probabilities."""

    places: torch.Tensor  # int64 [S], in the batch
    wanted: list[int | None]  # one entry a request of the batch: how many of the likeliest tokens


class TokenLogprobs(NamedTuple):
    """Natural logarithms of probabilities by the raw logits: before penalties, temperature and filters.

    Tensors are on the CPU, valid when the forward's copies are.
    """

    places: list[int | None]  # one entry a request of the batch: its row below
    wanted: list[int | None]
    chosen: torch.Tensor  # float32 [S], of the sampled token
    top_ids: torch.Tensor  # int64 [S, K], the likeliest tokens, likeliest first
    top: torch.Tensor  # float32 [S, K]

    def of(self, i: int) -> tuple[float | None, list[list[float]] | None]:
        """Of the batch's i-th request: its token's, and `[id, log-probability]` of each of the likeliest."""
        row, count = self.places[i], self.wanted[i]
        if row is None or count is None:
            return None, None
        ids, values = self.top_ids[row, :count].tolist(), self.top[row, :count].tolist()
        return float(self.chosen[row]), [[token, value] for token, value in zip(ids, values, strict=True)]


def token_logprobs(logits: torch.Tensor, tokens: torch.Tensor, args: LogprobArgs) -> TokenLogprobs:
    """What is to be reported on a batch.

    Args:
        logits: [B, V].
        tokens: int32 [B], as sampled; not read of requests whose logits are no numbers.
    """
    scores = logits[args.places].float()
    total = scores.logsumexp(dim=-1)
    ids = tokens[args.places].long().clamp(min=0)
    chosen = scores.gather(-1, ids[:, None]).squeeze(-1) - total
    count = min(max(n for n in args.wanted if n is not None), logits.shape[-1])
    top = scores.topk(count, dim=-1)
    asked = [i for i, n in enumerate(args.wanted) if n is not None]
    places: list[int | None] = [None] * len(args.wanted)
    for row, i in enumerate(asked):
        places[i] = row
    on_cpu = [x.to("cpu", non_blocking=True) for x in (chosen, top.indices, top.values - total[:, None])]
    return TokenLogprobs(places, args.wanted, *on_cpu)
