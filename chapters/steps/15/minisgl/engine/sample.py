"""From logits to tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from ..core import Batch, Req
from .logprobs import LogprobArgs, TokenLogprobs, token_logprobs
from .penalty import PenaltyArgs, PenaltyTable

NO_TOKEN = -1
# What a CPU works on at once: larger intermediate results leave its cache, and each is memory that the system
# has to hand out anew.
CHUNK_ELEMENTS = 2**18
CANDIDATES = 1024  # filters look at so many tokens of a large vocabulary, where no other can pass
_TINY = torch.finfo(torch.float32).tiny  # what is above 0 as a Python number, must not be 0 in float32
_SAMPLED, _FEW, _MANY, _PENALIZED, _REPORTED = range(5)  # kinds of requests, columns of `Sampler._kinds`


class FilterArgs(NamedTuple):
    """Requests that exclude tokens, with the arguments of `filter_probs`."""

    rows: torch.Tensor  # int64 [S], places in the batch
    top_k: torch.Tensor  # int64 [S], the vocabulary's size where off
    top_p: torch.Tensor  # float32 [S]
    min_p: torch.Tensor  # float32 [S]

    def split(self, count: int) -> list[FilterArgs]:
        """Parts of at most `count` requests."""
        return [FilterArgs(*part) for part in zip(*(x.split(count) for x in self), strict=True)]


@dataclass
class BatchSamplingArgs:
    """What the sampler needs to know of a batch, on its device. All None: every request is greedy."""

    temperatures: torch.Tensor | None = None  # float32 [B], 0 for greedy requests
    uniforms: torch.Tensor | None = None  # float64 [B], a random number in [0, 1) each
    few: FilterArgs | None = None  # requests with top_k up to CANDIDATES
    many: FilterArgs | None = None  # requests with other filters
    penalties: PenaltyArgs | None = None
    logprobs: LogprobArgs | None = None


class Sampler:
    """Chooses the next token of each request of a batch.

    A request's settings are written into tables on the device when it is first seen in a prefill batch, at
    the row of the page table that it holds; a step then gathers those of its batch in a few operations.

    The random number behind a token depends on the request's seed and the token's position alone, so a
    request writes the same text in any batch, with any prefix cached, and after being interrupted. Whoever
    brings no seed gets one made of the engine's and the uid.
    """

    def __init__(self, device: torch.device, vocab_size: int, seed: int, num_rows: int) -> None:
        """`num_rows`: those of the page table."""
        self.device = device
        self.vocab_size = vocab_size
        self._seed = _mix(seed)
        self._temperatures = torch.zeros(num_rows, device=device)
        self._states = torch.zeros(num_rows, dtype=torch.int64, device=device)  # see `uniforms`
        self._top_k = torch.zeros(num_rows, dtype=torch.int64, device=device)
        self._top_p, self._min_p = torch.zeros(2, num_rows, device=device)
        self.penalties = PenaltyTable(device, num_rows)
        self._kinds = torch.zeros(num_rows, 5, dtype=torch.bool)  # on the CPU
        self._is_plain = [True] * num_rows  # whether a row's request is greedy and asks for nothing else
        self._owners: list[object] = [None] * num_rows  # whose settings a row holds

    def prepare(
        self, batch: Batch, index: tuple[torch.Tensor, torch.Tensor] | None = None
    ) -> BatchSamplingArgs:
        """Collect the settings of a batch's requests. Call before the forward, which moves positions.

        `index`, if the caller has it on the device: int64 [B] each, rows of the requests that get a token,
        and its positions.
        """
        if batch.is_prefill:
            self._admit(batch.reqs[batch.num_decodes :])
        args = BatchSamplingArgs()
        if all(self._is_plain[req.table_idx] for req in batch.reqs):
            return args
        table_rows = torch.tensor([req.table_idx for req in batch.reqs])
        kinds = self._kinds[table_rows]
        sampled, few, many, penalized, reported = kinds.any(dim=0).tolist()
        if sampled or penalized:
            lengths = [req.device_len for req in batch.reqs]
            rows, positions = index or (self._on_device(table_rows), self._on_device(torch.tensor(lengths)))
        if sampled:
            args.temperatures, args.uniforms = self.gather(rows, positions)
        if few:
            args.few = self._filter_args(kinds[:, _FEW], rows)
        if many:
            args.many = self._filter_args(kinds[:, _MANY], rows)
        if penalized:
            places = self._on_device(kinds[:, _PENALIZED].nonzero().squeeze(1))
            args.penalties = PenaltyArgs(places, rows[places], positions[places], max(lengths))
        if reported:
            wanted = [req.sampling_params.logprobs for req in batch.reqs]
            places = self._on_device(kinds[:, _REPORTED].nonzero().squeeze(1))
            args.logprobs = LogprobArgs(places, wanted)
        return args

    def gather(self, rows: torch.Tensor, positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Temperatures and random numbers of requests, read from the device's tables alone.

        Those of a request with filters are as `sample_tokens` would need them without.

        Args:
            rows: int64 [B], rows of the page table.
            positions: int64 [B], of the tokens to be sampled.

        Returns:
            float32 [B] and float64 [B], as `sample_tokens` takes them.
        """
        return self._temperatures[rows], uniforms(self._states[rows], positions)

    def sample(
        self, logits: torch.Tensor, args: BatchSamplingArgs, tokens: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Logits to tokens.

        Args:
            logits: [B, V], left as they are.
            args: of this batch.
            tokens: int32 [B], what `sample_tokens` has made of the logits, where that is known already.

        Returns:
            int32 [B]; `NO_TOKEN` where the logits are not numbers to choose from. That is not raised here,
            where a GPU would have to be waited for.
        """
        if args.penalties is not None:
            logits, tokens = self.penalties.apply(logits, args.penalties), None
        if tokens is None and args.temperatures is not None and args.uniforms is not None:
            tokens = sample_tokens(logits, args.temperatures, args.uniforms)
        elif tokens is None:
            largest, best = logits.max(dim=-1)  # the largest is NaN where any is
            tokens = best.where(largest.isfinite(), NO_TOKEN).to(torch.int32)
        if args.few is not None:
            tokens = self._sample_filtered(logits, tokens, args, args.few, few=True)
        if args.many is not None:
            tokens = self._sample_filtered(logits, tokens, args, args.many, few=False)
        return tokens

    def logprobs(
        self, logits: torch.Tensor, tokens: torch.Tensor, args: BatchSamplingArgs
    ) -> TokenLogprobs | None:
        """Log-probabilities of the sampled tokens, for requests that asked for them; None when none did."""
        return None if args.logprobs is None else token_logprobs(logits, tokens, args.logprobs)

    def _admit(self, reqs: list[Req]) -> None:
        """Write the settings of requests whose rows do not hold them yet."""
        owners = [(req.uid, req.sampling_params, req.prompt_len) for req in reqs]
        new = [i for i, req in enumerate(reqs) if self._owners[req.table_idx] != owners[i]]
        if not new:
            return
        table_rows = [reqs[i].table_idx for i in new]
        params = [reqs[i].sampling_params for i in new]
        rows = self._tensor(table_rows, torch.int64)
        temperatures = [0.0 if p.is_greedy else max(p.temperature, _TINY) for p in params]
        self._temperatures[rows] = self._tensor(temperatures, torch.float32)
        seeds = [
            p.seed if p.seed is not None else self._seed + reqs[i].uid
            for i, p in zip(new, params, strict=True)
        ]
        self._states[rows] = self._tensor([_signed(_mix(seed)) for seed in seeds], torch.int64)
        top_k = [self.vocab_size if p.top_k == -1 else min(p.top_k, self.vocab_size) for p in params]
        if any(p.is_filtered for p in params):
            self._top_k[rows] = self._tensor(top_k, torch.int64)
            self._top_p[rows] = self._tensor([max(p.top_p, _TINY) for p in params], torch.float32)
            self._min_p[rows] = self._tensor([p.min_p for p in params], torch.float32)
        if any(p.is_penalized for p in params):
            settings = [(p.repetition_penalty, p.presence_penalty, p.frequency_penalty) for p in params]
            prompt_lens = self._tensor([reqs[i].prompt_len for i in new], torch.int64)
            self.penalties.write(rows, self._tensor(settings, torch.float32), prompt_lens)
        for i, row, p, k in zip(new, table_rows, params, top_k, strict=True):
            few = p.is_filtered and k <= CANDIDATES
            many = p.is_filtered and k > CANDIDATES
            kinds = [not p.is_greedy, few, many, p.is_penalized, p.logprobs is not None]
            self._kinds[row] = torch.tensor(kinds)
            self._is_plain[row] = not any(kinds)
            self._owners[row] = owners[i]

    def _filter_args(self, which: torch.Tensor, rows: torch.Tensor) -> FilterArgs:
        places = self._on_device(which.nonzero().squeeze(1))
        rows = rows[places]
        return FilterArgs(places, self._top_k[rows], self._top_p[rows], self._min_p[rows])

    def _sample_filtered(
        self,
        logits: torch.Tensor,
        tokens: torch.Tensor,
        args: BatchSamplingArgs,
        filters: FilterArgs,
        few: bool,
    ) -> torch.Tensor:
        """`tokens` with those of the requests that filter drawn from what their filters leave."""
        assert args.temperatures is not None and args.uniforms is not None
        # A CPU is fastest with what fits into its cache, a GPU with all at once.
        count = len(filters.rows) if logits.is_cuda else max(1, CHUNK_ELEMENTS // logits.shape[-1])
        drawn = []
        for part in filters.split(count):
            scores = logits[part.rows].float()
            # The largest score becomes 0 before the division, which a tiny temperature would make infinite.
            scores = (scores - scores.amax(dim=-1, keepdim=True)) / args.temperatures[part.rows][:, None]
            drawn.append(draw_filtered(scores.softmax(dim=-1), args.uniforms[part.rows], part, few=few))
        valid = tokens[filters.rows] != NO_TOKEN
        return tokens.index_copy(0, filters.rows, torch.cat(drawn).to(torch.int32).where(valid, NO_TOKEN))

    def _tensor(self, values: Sequence[Any], dtype: torch.dtype) -> torch.Tensor:
        return self._on_device(torch.tensor(values, dtype=dtype))

    def _on_device(self, host: torch.Tensor) -> torch.Tensor:
        if self.device.type != "cuda":
            return host
        return host.pin_memory().to(self.device, non_blocking=True)  # beside the GPU's work


def sample_tokens(logits: torch.Tensor, temperatures: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """One token a row, by inverting the cumulative distribution of softmax(logits / temperature).

    Args:
        logits: [B, V], at least 1 token.
        temperatures: float32 [B]; 0 takes the most likely token, the lowest id of several.
        uniforms: float32 or float64 [B], random numbers in [0, 1); not read where the temperature is 0.

    Returns:
        int32 [B]; `NO_TOKEN` where the largest logit is not a finite number, as with any NaN in the row.
    """
    rows = max(1, CHUNK_ELEMENTS // logits.shape[-1])
    if len(logits) > rows and not logits.is_cuda:
        parts = zip(logits.split(rows), temperatures.split(rows), uniforms.split(rows), strict=True)
        return torch.cat([sample_tokens(*part) for part in parts])
    largest, greedy = logits.max(dim=-1)
    # The largest score becomes 0 before the division, which a tiny temperature would make infinite.
    scores = (logits.float() - largest.float()[:, None]) / temperatures[:, None]
    cumulative = scores.exp().cumsum(dim=-1, dtype=torch.float64)
    thresholds = uniforms.double()[:, None] * cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, thresholds, right=True).squeeze(-1)
    tokens = torch.where(temperatures > 0, drawn, greedy)
    return tokens.where(largest.isfinite(), NO_TOKEN).to(torch.int32)


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


def draw(probs: torch.Tensor, uniforms: torch.Tensor) -> torch.Tensor:
    """One token a row: the first whose cumulative probability exceeds the row's random number.

    Args:
        probs: float32 [B, V], rows sum to about 1.
        uniforms: float64 [B], in [0, 1).

    Returns:
        int64 [B]; never a token of probability 0. Any token where the row is not of numbers.
    """
    cumulative = probs.cumsum(dim=-1, dtype=torch.float64)
    thresholds = uniforms[:, None] * cumulative[:, -1:]
    drawn = torch.searchsorted(cumulative, thresholds, right=True).squeeze(-1)
    return drawn.clamp(max=probs.shape[-1] - 1)


def draw_filtered(
    probs: torch.Tensor, uniforms: torch.Tensor, filters: FilterArgs, *, few: bool
) -> torch.Tensor:
    """`draw` from `filter_probs`, without sorting a large vocabulary where the likeliest tokens will do.

    Args:
        probs: float32 [S, V], rows sum to 1.
        uniforms: float64 [S].
        filters: of these rows.
        few: whether every top_k is at most CANDIDATES.

    Returns:
        int64 [S].
    """
    _, top_k, top_p, min_p = filters
    if probs.shape[-1] <= 8 * CANDIDATES:  # sorting is as fast
        return draw(filter_probs(probs, top_k, top_p, min_p), uniforms)
    if few:
        likely, ids = narrow(probs, CANDIDATES)
        return _draw_narrowed(likely, ids, uniforms, top_k, top_p, min_p)
    if probs.is_cuda:  # what follows looks at numbers, for which a GPU would have to be waited for
        return draw(filter_probs(probs, top_k, top_p, min_p), uniforms)
    likely, ids = narrow(probs, CANDIDATES)
    mass, (smallest, largest) = likely.sum(dim=-1), likely.aminmax(dim=-1)
    enough = (top_k == probs.shape[-1]) & ((mass > top_p) | (smallest < min_p * largest))
    # `top_p` is a share of all tokens here, of which the likely ones have `mass`
    top_p_of_likely = (top_p / mass).clamp(max=1)
    tokens = torch.empty_like(top_k)
    tokens[enough] = _draw_narrowed(
        likely[enough], ids[enough], uniforms[enough], top_k[enough], top_p_of_likely[enough], min_p[enough]
    )
    rest = ~enough
    tokens[rest] = draw(filter_probs(probs[rest], top_k[rest], top_p[rest], min_p[rest]), uniforms[rest])
    return tokens


def narrow(probs: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` likeliest tokens of each row in ascending order of their ids, ties going to the lower id.

    Args:
        probs: float32 [B, V], not negative.

    Returns:
        Their probabilities, float32 [B, count], not rescaled, and their ids, int64 [B, count].
    """
    last = probs.shape[-1] - 1
    # One integer that orders by probability and then by falling id: the bits of floats that are not negative
    # are in the order of the floats.
    keys = probs.view(torch.int32).long().mul_(2**32).add_(last - torch.arange(last + 1, device=probs.device))
    best = keys.topk(count, dim=-1, sorted=False).values
    ids = (last - (best & 0xFFFFFFFF)).sort(dim=-1).values
    return probs.gather(-1, ids), ids


def _draw_narrowed(
    likely: torch.Tensor,
    ids: torch.Tensor,
    uniforms: torch.Tensor,
    top_k: torch.Tensor,
    top_p: torch.Tensor,
    min_p: torch.Tensor,
) -> torch.Tensor:
    rescaled = likely / likely.sum(dim=-1, keepdim=True)
    drawn = draw(filter_probs(rescaled, top_k, top_p, min_p), uniforms)
    return ids.gather(-1, drawn[:, None]).squeeze(-1)


def uniform(seed: int, position: int) -> float:
    """A random number in [0, 1) that is a function of its arguments: splitmix64 of both, mixed twice.

    A stateful generator would make the numbers depend on how often it was asked before. The mixing function
    is that of Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014.
    """
    return (_mix(_mix(seed) + position) >> 11) / 2**53


def uniforms(states: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """`uniform` of many requests at once, on their device: float64 [B].

    Args:
        states: int64 [B], the mixed seeds, with the highest bit as sign.
        positions: int64 [B].
    """
    value = states + positions + _signed(_GOLDEN)  # int64 overflows as 64 bits without a sign do
    value = (value ^ _shifted(value, 30)) * _signed(_FACTORS[0])
    value = (value ^ _shifted(value, 27)) * _signed(_FACTORS[1])
    return _shifted(value ^ _shifted(value, 31), 11).double() * 2.0**-53


_GOLDEN, _FACTORS = 0x9E3779B97F4A7C15, (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def _mix(value: int) -> int:
    mask = 2**64 - 1
    value = (value + _GOLDEN) & mask
    value = ((value ^ (value >> 30)) * _FACTORS[0]) & mask
    value = ((value ^ (value >> 27)) * _FACTORS[1]) & mask
    return value ^ (value >> 31)


def _shifted(value: torch.Tensor, bits: int) -> torch.Tensor:
    return (value >> bits) & (2 ** (64 - bits) - 1)  # a shift of int64 fills up with the sign


def _signed(value: int) -> int:
    """The int64 with the same 64 bits."""
    return value - 2**64 if value >= 2**63 else value
