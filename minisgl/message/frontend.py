"""Messages to the API server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .utils import deserialize_type, serialize_type


@dataclass
class BaseFrontendMsg:
    """Anything that the API server receives."""

    def encoder(self) -> dict[str, Any]:
        """The message as plain data."""
        data: dict[str, Any] = serialize_type(self)
        return data

    @staticmethod
    def decoder(data: Any) -> BaseFrontendMsg:
        """The message in untrusted plain data. ValueError when it is none of this module's."""
        msg = deserialize_type(globals(), data)
        if not isinstance(msg, BaseFrontendMsg):
            raise ValueError(f"expected a message to the API server, not a {type(msg).__name__}")
        return msg


@dataclass
class BatchFrontendMsg(BaseFrontendMsg):
    """Several messages that travel together."""

    data: list[BaseFrontendMsg]


@dataclass
class TokenLogprob:
    """A token as text, as the bytes it stands for, and how likely it was."""

    token: str
    raw: bytes
    logprob: float  # natural logarithm


@dataclass
class TokenizedReply(BaseFrontendMsg):
    """A prompt has been turned into tokens and handed on; or it cannot be, and `error` says why."""

    uid: int
    prompt_tokens: int
    error: str | None = None


@dataclass
class UserReply(BaseFrontendMsg):
    """What one more token adds to a request's text: nothing while a character is incomplete."""

    uid: int
    incremental_output: str
    tokens: int  # generated since the last reply; 0 for an end that brings no token
    finished: bool
    finish_reason: str | None = None  # "stop", "length", "abort", "error"
    error: str | None = None
    logprob: TokenLogprob | None = None
    top_logprobs: list[TokenLogprob] | None = None


@dataclass
class DetokenizerStats(BaseFrontendMsg):
    """How the detokenizer stands."""

    requests: int  # of which it holds something


@dataclass
class StatsReply(BaseFrontendMsg):
    """How the scheduler stands."""

    waiting: int  # requests without a row of the page table
    running: int  # requests that hold a row
    free_pages: int  # pages in nobody's hands
    cached_pages: int  # pages that only the prefix cache holds: free when needed
    total_pages: int
    prefill_tokens: int  # computed since the start
    cache_hit_tokens: int  # of prompts, that did not have to be computed, since the start
