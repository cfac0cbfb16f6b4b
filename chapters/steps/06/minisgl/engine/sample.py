"""From logits to tokens."""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch

from ..core import Batch

NO_TOKEN = -1
_TINY = torch.finfo(torch.float32).tiny  # what is above 0 as a Python number, must not be 0 in float32


@dataclass
class BatchSamplingArgs:
    """What `sample` needs to know of a batch. `rows` is None when every request is greedy.

    Otherwise the tensors have one entry for each request that is not greedy, in the order of `rows`.
    """

    rows: torch.Tensor | None = None  # int64 [S], the batch's requests that are not greedy
    temperatures: torch.Tensor | None = None  # float32 [S]
    uniforms: torch.Tensor | None = None  # float64 [S], one random number in [0, 1) each
    # None, all three, when no request of the batch filters
    top_k: torch.Tensor | None = None  # int64 [S], the vocabulary's size where off
    top_p: torch.Tensor | None = None  # float32 [S]
    min_p: torch.Tensor | None = None  # float32 [S]


def filter_probs(
    probs: torch.Tensor, top_k: torch.Tensor, top_p: torch.Tensor, min_p: torch.Tensor
) -> torch.Tensor:
    """Keep the likely tokens of each row by its own three settings, and rescale them to sum 1.

    Args:
        probs: float32 [B, V], rows sum to 1.
        top_k: int [B], at least 1: the k most likely tokens stay, ties going to the lower id.
        top_p: float32 [B], in (0, 1]: of these, rescaled, a token stays if those before it have less than p.
        min_p: float32 [B], in [0, 1): a token less likely than this fraction of the most likely one goes.

    Returns:
        float32 [B, V].
    """
    ordered, ids = probs.sort(dim=-1, descending=True, stable=True)
    ranks = torch.arange(probs.shape[-1], device=probs.device)
    ordered = ordered.masked_fill(ranks >= top_k[:, None], 0.0)
    ordered /= ordered.sum(dim=-1, keepdim=True)
    before = ordered.cumsum(dim=-1) - ordered
    # At p = 1 all stay: only rounding could make the sum before a token reach 1.
    excess = (before >= top_p[:, None]) & (top_p[:, None] < 1)
    unlikely = ordered < min_p[:, None] * ordered[:, :1]
    ordered = ordered.masked_fill(excess | unlikely, 0.0)
    ordered /= ordered.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter_(-1, ids, ordered)


class Sampler:
    """Chooses the next token of each request of a batch.

    A request with a seed gets random numbers that depend on the seed and the token's position alone, so it
    writes the same tokens in any batch, with any prefix cached, and after being interrupted.
    """

    def __init__(self, device: torch.device, vocab_size: int, seed: int) -> None:
        self.device = device
        self.vocab_size = vocab_size
        self._random = random.Random(seed)  # for requests without a seed

    def prepare(self, batch: Batch) -> BatchSamplingArgs:
        """Collect the settings of a batch's requests. Call before the forward, which moves positions."""
        rows = [i for i, req in enumerate(batch.reqs) if not req.sampling_params.is_greedy]
        if not rows:
            return BatchSamplingArgs()
        reqs = [batch.reqs[i] for i in rows]
        params = [req.sampling_params for req in reqs]
        uniforms = [
            self._random.random() if p.seed is None else uniform(p.seed, req.device_len)
            for p, req in zip(params, reqs, strict=True)
        ]
        args = BatchSamplingArgs(
            rows=self._tensor(rows, torch.int64),
            temperatures=self._tensor([max(p.temperature, _TINY) for p in params], torch.float32),
            uniforms=self._tensor(uniforms, torch.float64),
        )
        if any(p.top_k != -1 or p.top_p < 1 or p.min_p > 0 for p in params):
            top_k = [self.vocab_size if p.top_k == -1 else min(p.top_k, self.vocab_size) for p in params]
            args.top_k = self._tensor(top_k, torch.int64)
            args.top_p = self._tensor([max(p.top_p, _TINY) for p in params], torch.float32)
            args.min_p = self._tensor([p.min_p for p in params], torch.float32)
        return args

    def sample(self, logits: torch.Tensor, args: BatchSamplingArgs) -> torch.Tensor:
        """Logits [B, V] to tokens, int32 [B]; `NO_TOKEN` where the logits are not numbers to choose from."""
        largest, tokens = logits.max(dim=-1)
        if args.rows is not None:
            assert args.temperatures is not None and args.uniforms is not None
            scores = logits[args.rows].float()
            # The largest score becomes 0 before the division, which a tiny temperature would make infinite.
            scores = (scores - scores.amax(dim=-1, keepdim=True)) / args.temperatures[:, None]
            probs = scores.softmax(dim=-1)
            if args.top_k is not None and args.top_p is not None and args.min_p is not None:
                probs = filter_probs(probs, args.top_k, args.top_p, args.min_p)
            tokens[args.rows] = draw(probs, args.uniforms)
        # The largest is NaN where any is. Not raised here, where a GPU would have to be waited for.
        return tokens.where(largest.isfinite(), NO_TOKEN).to(torch.int32)

    def _tensor(self, values: list[int] | list[float], dtype: torch.dtype) -> torch.Tensor:
        pinned = self.device.type == "cuda"  # lets the copy run beside the GPU's work
        return torch.tensor(values, dtype=dtype, pin_memory=pinned).to(self.device, non_blocking=pinned)


def draw(probs: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """One token a row: the first whose cumulative probability exceeds the row's random number.

    Args:
        probs: float32 [B, V], rows sum to about 1.
        uniforms: float64 [B], in [0, 1).

    Returns:
        int64 [B]; never a token of probability 0.
    """
    cumulative = probs.cumsum(dim=-1, dtype=torch.float64)
    thresholds = uniforms[:, None] * cumulative[:, -1:]
    return torch.searchsorted(cumulative, thresholds, right=True).squeeze(-1)


def uniform(seed: int, position: int) -> float:
    """A random number in [0, 1) that is a function of its arguments: splitmix64 of both, mixed twice.

    A stateful generator would make the numbers depend on how often it was asked before. The mixing function
    is that of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
    """
    return (_mix(_mix(seed) + position) >> 11) / 2**53


def _mix(value: int) -> int:
    mask = 2**64 - 1
    value = (value + 0x9E3779B97F4A7C15) & mask
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & mask
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & mask
    return value ^ (value >> 31)
