"""Penalties: other logits for tokens that were there before."""

from __future__ import annotations

from typing import NamedTuple

import torch


class PenaltyArgs(NamedTuple):
    """The requests of a batch that penalize tokens."""

    places: torch.Tensor  # int64 [P], in the batch
    rows: torch.Tensor  # int64 [P], of the page table
    lengths: torch.Tensor  # int64 [P], tokens of prompt and output so far
    longest: int  # at least the largest of them


class PenaltyTable:
    """The penalties of each row's request, and where its output begins, on the device.

    Which tokens were there is read from the token pool, which knows them a step before the CPU does. So
    nothing has to be counted along, and nothing restored after a retraction.
    """

    def __init__(self, device: torch.device, num_rows: int) -> None:
        self._repetition, self._presence, self._frequency = torch.zeros(3, num_rows, device=device)
        self._prompt_lens = torch.zeros(num_rows, dtype=torch.int64, device=device)
        self.token_pool: torch.Tensor | None = None  # int32 [rows, positions], set by the scheduler

    def write(self, rows: torch.Tensor, settings: torch.Tensor, prompt_lens: torch.Tensor) -> None:
        """Requests have taken rows.

        Args:
            rows: int64 [n].
            settings: float32 [n, 3], repetition, presence and frequency penalty.
            prompt_lens: int64 [n], tokens that the user gave.
        """
        # No logit stays finite beyond a factor of a million, nor would any differ.
        self._repetition[rows] = settings[:, 0].clamp(1e-6, 1e6)
        self._presence[rows], self._frequency[rows] = settings[:, 1], settings[:, 2]
        self._prompt_lens[rows] = prompt_lens

    def apply(self, logits: torch.Tensor, args: PenaltyArgs) -> torch.Tensor:
        """Logits [B, V] with the penalties of those who have some: a copy, float32.

        First the repetition penalty of Keskar et al., "CTRL", 2019: the logit of each token of prompt and
        output is divided by r if it is positive, else multiplied. Then OpenAI's: each token's logit loses
        count * frequency + (count > 0) * presence, its count being that in the output.
        """
        if self.token_pool is None:
            raise RuntimeError("penalties need the token pool: set penalties.token_pool")
        places, rows, lengths, longest = args
        logits = logits.to(torch.float32, copy=True)
        scores = logits[places]
        positions = torch.arange(longest, device=logits.device)
        known = positions < lengths[:, None]
        tokens = self.token_pool[rows, :longest].long()
        tokens = tokens.where(
            known, tokens[:, :1]
        )  # what lies behind is nobody's: the first stands in for it
        old = scores.gather(-1, tokens)
        factors = self._repetition[rows, None]
        scores.scatter_(-1, tokens, torch.where(old > 0, old / factors, old * factors))
        generated = known & (positions >= self._prompt_lens[rows, None])
        counts = torch.zeros_like(scores).scatter_add_(-1, tokens, generated.float())
        scores -= counts * self._frequency[rows, None] + (counts > 0) * self._presence[rows, None]
        return logits.index_copy_(0, places, scores)
