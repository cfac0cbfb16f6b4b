"""What every part of the engine speaks about: requests, batches, and the context of a running forward."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from reprlib import repr as short
from typing import TYPE_CHECKING, Literal

import torch

from .utils import check_count, int_tensor, is_int, is_number

if TYPE_CHECKING:
    from .attention import BaseAttnBackend, BaseAttnMetadata
    from .kvcache import BaseCacheHandle, BaseKVCachePool
    from .moe import BaseMoeBackend


_MAX_STOPS, _MAX_STOP_CHARS = 16, 256  # every new text is searched for each of them


@dataclass(frozen=True)
class SamplingParams:
    """How the tokens of one request are chosen, and where it ends.

    Lists become tuples, and one stop string a tuple of one: what JSON and msgpack carry is as good. A stop
    string that contains another one is dropped, as the text ends at the other one.

    Raises:
        ValueError: a field is out of its range; the message names it.
    """

    temperature: float = 0.0  # 0: always the most likely token
    top_k: int = -1  # only the k most likely tokens; -1: all
    top_p: float = 1.0  # only the fewest tokens whose probability reaches p
    min_p: float = 0.0  # only tokens at least this fraction as likely as the most likely one
    ignore_eos: bool = False  # go on after the end-of-sequence token
    max_tokens: int = 1024  # most tokens to generate
    seed: int | None = None  # same seed and prompt: same tokens, whatever else runs beside
    presence_penalty: float = 0.0  # taken from the logit of each token generated before
    frequency_penalty: float = 0.0  # the same, once for each time that it was generated
    repetition_penalty: float = 1.0  # tokens of prompt and output: logit / r if positive, else logit * r
    stop: tuple[str, ...] = ()  # the text ends before the first of these
    stop_token_ids: tuple[int, ...] = ()  # end the text as the end-of-sequence token does, always
    logprobs: int | None = None  # report each token's log-probability, and this many of the likeliest
    n: int = 1  # texts to generate from the prompt

    def __post_init__(self) -> None:
        # frozen, so not assigned but set: still before anybody has seen the object
        object.__setattr__(self, "stop", (self.stop,) if isinstance(self.stop, str) else _tuple(self.stop))
        object.__setattr__(self, "stop_token_ids", _tuple(self.stop_token_ids))
        if not is_number(self.temperature) or not 0 <= self.temperature < math.inf:
            raise ValueError(
                f"temperature must be a finite number of at least 0, not {short(self.temperature)}"
            )
        if not is_int(self.top_k) or (self.top_k != -1 and self.top_k < 1):
            raise ValueError(
                f"top_k must be -1 (all tokens) or an integer of at least 1, not {short(self.top_k)}"
            )
        if not is_number(self.top_p) or not 0 < self.top_p <= 1:
            raise ValueError(f"top_p must be a number above 0 and at most 1, not {short(self.top_p)}")
        if not is_number(self.min_p) or not 0 <= self.min_p < 1:
            raise ValueError(f"min_p must be a number of at least 0 and below 1, not {short(self.min_p)}")
        if not isinstance(self.ignore_eos, bool):
            raise ValueError(f"ignore_eos must be True or False, not {short(self.ignore_eos)}")
        check_count("max_tokens", self.max_tokens)
        if self.seed is not None and not is_int(self.seed):
            raise ValueError(f"seed must be an integer or None, not {short(self.seed)}")
        for name in ("presence_penalty", "frequency_penalty"):
            value = getattr(self, name)
            if not is_number(value) or not -2 <= value <= 2:
                raise ValueError(f"{name} must be a number from -2 to 2, not {short(value)}")
        if not is_number(self.repetition_penalty) or not 0 < self.repetition_penalty < math.inf:
            raise ValueError(
                f"repetition_penalty must be a finite number above 0, not {short(self.repetition_penalty)}"
            )
        if self.logprobs is not None and (not is_int(self.logprobs) or not 0 <= self.logprobs <= 20):
            raise ValueError(f"logprobs must be None or an integer from 0 to 20, not {short(self.logprobs)}")
        if not is_int(self.n) or not 1 <= self.n <= 128:
            raise ValueError(f"n must be an integer from 1 to 128, not {short(self.n)}")
        self._check_stops()
        reached = [stop for stop in self.stop if not any(o in stop for o in self.stop if o != stop)]
        object.__setattr__(self, "stop", tuple(dict.fromkeys(reached)))

    def _check_stops(self) -> None:
        if not isinstance(self.stop, tuple) or len(self.stop) > _MAX_STOPS:
            raise ValueError(f"stop must be a list of at most {_MAX_STOPS} texts, not {short(self.stop)}")
        for text in self.stop:
            if not isinstance(text, str) or not 0 < len(text) <= _MAX_STOP_CHARS:
                raise ValueError(
                    f"stop must be texts of 1 to {_MAX_STOP_CHARS} characters, one is {short(text)}"
                )
            if any("\ud800" <= char <= "\udfff" for char in text):
                raise ValueError(f"stop must be valid Unicode, but {short(text)} holds half of a character")
        if not isinstance(self.stop_token_ids, tuple):
            raise ValueError(f"stop_token_ids must be a list of token ids, not {short(self.stop_token_ids)}")
        for token in self.stop_token_ids:
            if not is_int(token) or token < 0:
                raise ValueError(
                    f"stop_token_ids must be token ids, integers of at least 0, not {short(token)}"
                )

    @property
    def is_greedy(self) -> bool:
        """Whether the most likely token is always taken, after the penalties if there are any."""
        return self.temperature == 0 or self.top_k == 1

    @property
    def is_filtered(self) -> bool:
        """Whether some tokens are excluded before one is drawn."""
        return not self.is_greedy and (self.top_k != -1 or self.top_p < 1 or self.min_p > 0)

    @property
    def is_penalized(self) -> bool:
        """Whether tokens that were there before get other logits."""
        return self.repetition_penalty != 1 or self.presence_penalty != 0 or self.frequency_penalty != 0

    def choices(self) -> list[SamplingParams]:
        """Those of the `n` requests that generate the texts, each with a seed of its own if there is one."""
        if self.n == 1:
            return [self]
        seeds = [None if self.seed is None else self.seed + i for i in range(self.n)]
        return [replace(self, n=1, seed=seed) for seed in seeds]


def _tuple(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


@dataclass(eq=False)  # two requests with equal fields are still two requests
class Req:
    """A request that holds a row of the page table.

    Three lengths say where it stands; positions `[0, cached_len)` have their KV in the pool, positions
    `[cached_len, device_len)` are computed by the next forward, and `max_device_len` is where it must end.
    """

    input_ids: torch.Tensor  # int32 [tokens known on the CPU], grows by `append_host`
    table_idx: int  # row of the page table and of the token pool
    cached_len: int
    output_len: int  # most tokens to generate
    uid: int
    sampling_params: SamplingParams
    cache_handle: BaseCacheHandle  # the prefix that this request holds locked

    def __post_init__(self) -> None:
        self.device_len = len(self.input_ids)
        self.max_device_len = self.device_len + self.output_len
        # Set by whoever admits the request, where they are something else.
        self.prompt_len = self.device_len  # tokens that the user gave; what follows was generated
        self.admission = 0  # when it was admitted, as a running number
        if not 0 <= self.cached_len < self.device_len:
            raise ValueError(
                f"request {self.uid}: cached_len {self.cached_len} must be at least 0 and below the "
                f"{self.device_len} tokens given: one token at least must be computed to get logits"
            )

    @property
    def extend_len(self) -> int:
        """Tokens that the next forward computes."""
        return self.device_len - self.cached_len

    @property
    def remain_len(self) -> int:
        """Tokens that may still be generated."""
        return self.max_device_len - self.device_len

    @property
    def can_decode(self) -> bool:
        return self.remain_len > 0

    def complete_one(self) -> None:
        """A forward has run: all known tokens are cached, and one more has been sampled on the device."""
        self.cached_len = self.device_len
        self.device_len += 1

    def append_host(self, next_token: torch.Tensor) -> None:
        """Record a sampled token on the CPU, where it may arrive later than on the device: int32 [1].

        `input_ids` becomes a view of the front of an array that doubles when it is full: n tokens cost about
        n copies, and n * n if each made a tensor of its own.
        """
        length = self.input_ids.numel()
        store: array[int] | None = getattr(self, "_store", None)
        if store is None or length == len(store):
            store = array("i", bytes(4 * (2 * length + 16)))
            self._store, self._tokens = store, torch.frombuffer(store, dtype=torch.int32)
            self._tokens[:length] = self.input_ids
        store[length] = int(next_token)  # of an array, which is ten times as fast as of a tensor
        self.input_ids = self._tokens[: length + 1]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(uid={self.uid}, table_idx={self.table_idx}, "
            f"cached_len={self.cached_len}, device_len={self.device_len}, "
            f"max_device_len={self.max_device_len})"
        )


class ChunkedReq(Req):
    """A request of whose prompt only a part is computed so far: nothing is sampled from it."""

    @property
    def can_decode(self) -> bool:
        return False

    def append_host(self, next_token: torch.Tensor) -> None:
        raise RuntimeError(f"request {self.uid}: no token follows a prompt that is computed in part")


@dataclass(repr=False)  # asked before all fields are set, it would raise
class Batch:
    """The requests of one forward, and their tokens as one row without padding.

    A batch in which running requests go on beside prompts is a "prefill" batch, too: attention has to expect
    any number of tokens. The running ones come first, in ascending uid, with one token each.
    """

    reqs: list[Req]
    phase: Literal["prefill", "decode"]
    num_decodes: int = 0  # in a prefill batch: so many of its first requests run already
    # set by the scheduler; N is the number of tokens, the sum of extend_len over padded_reqs
    input_ids: torch.Tensor = field(init=False)  # int32 [N]
    positions: torch.Tensor = field(init=False)  # int32 [N]
    out_loc: torch.Tensor = field(init=False)  # int32 [N], where in the KV pool each token goes
    # maybe set by the scheduler, for decode: int32 [2, B], rows of padded_reqs and their lengths (device_len)
    lengths: torch.Tensor | None = field(default=None, init=False)
    padded_reqs: list[Req] = field(init=False)  # reqs, then dummies where a graph needs a fixed size
    # set by the attention backend
    attn_metadata: BaseAttnMetadata = field(init=False)

    def __post_init__(self) -> None:
        self.padded_reqs = self.reqs

    @property
    def is_prefill(self) -> bool:
        return self.phase == "prefill"

    @property
    def is_decode(self) -> bool:
        return self.phase == "decode"

    @property
    def size(self) -> int:
        return len(self.reqs)

    @property
    def padded_size(self) -> int:
        return len(self.padded_reqs)


def flat_positions(reqs: Sequence[Req]) -> tuple[torch.Tensor, torch.Tensor]:
    """Row and position of every token that the next forward of `reqs` computes, request after request.

    Returns:
        rows, int64 [N]: the request's `table_idx`, once for each of its tokens;
        positions, int32 [N]: its positions `[cached_len, device_len)`.
    """
    rows, positions = flat_ranges(
        [req.table_idx for req in reqs], [req.cached_len for req in reqs], [req.device_len for req in reqs]
    )
    return rows, positions.int()


def flat_ranges(
    rows: Sequence[int], starts: Sequence[int], ends: Sequence[int]
) -> tuple[torch.Tensor, torch.Tensor]:
    """The positions `[starts[i], ends[i])` of each row `rows[i]`, one behind the other.

    Returns:
        int64 [N] each: the row and the position of every entry, N being the sum of all lengths.
    """
    row, start = int_tensor(rows), int_tensor(starts)
    lengths = [end - begin for begin, end in zip(starts, ends, strict=True)]
    if lengths.count(1) == len(lengths):  # every decode step
        return row, start
    length = int_tensor(lengths)
    which = torch.repeat_interleave(length, output_size=sum(lengths))  # the range that an entry belongs to
    shift = start - (length.cumsum(0) - length)  # from an entry's place in the result to its position
    return row[which], shift[which] + torch.arange(len(which))


@dataclass
class Context:
    """What the layers of a model reach without being handed it: the KV pool, the page table, the batch."""

    page_size: int
    # set by the engine
    page_table: torch.Tensor = field(init=False)  # int32 [rows, positions], token locations
    attn_backend: BaseAttnBackend = field(init=False)
    moe_backend: BaseMoeBackend = field(init=False)
    kv_cache: BaseKVCachePool = field(init=False)
    _batch: Batch | None = field(default=None, init=False)

    @property
    def batch(self) -> Batch:
        """The batch whose forward is running. RuntimeError outside of `forward_batch`."""
        if self._batch is None:
            raise RuntimeError("no forward is running: there is no current batch")
        return self._batch

    @contextmanager
    def forward_batch(self, batch: Batch) -> Iterator[None]:
        """Make `batch` the current one. RuntimeError when another one already is."""
        if self._batch is not None:
            raise RuntimeError("forward_batch cannot be nested: another batch is running")
        self._batch = batch
        try:
            yield
        finally:
            self._batch = None

    def reset(self) -> None:
        """Have no current batch."""
        self._batch = None


# One context a thread of execution: engines of one process each set theirs around a forward.
_GLOBAL_CTX: ContextVar[Context | None] = ContextVar("minisgl_context", default=None)


def set_global_ctx(ctx: Context) -> None:
    """Set the context that layers see. RuntimeError when one is set already."""
    if _GLOBAL_CTX.get() is not None:
        raise RuntimeError("the global context is already set")
    _GLOBAL_CTX.set(ctx)


def get_global_ctx() -> Context:
    """The context in force. RuntimeError when none is set."""
    ctx = _GLOBAL_CTX.get()
    if ctx is None:
        raise RuntimeError("the global context is not set")
    return ctx


def reset_global_ctx() -> None:
    """Leave no context set."""
    _GLOBAL_CTX.set(None)
