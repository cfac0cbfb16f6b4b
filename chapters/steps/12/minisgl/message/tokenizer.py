"""Messages to those who turn text into tokens and tokens into text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core import SamplingParams
from .utils import deserialize_type, serialize_type


@dataclass
class BaseTokenizerMsg:
    """Anything that a tokenizer or the detokenizer receives."""

    def encoder(self) -> dict[str, Any]:
        """The message as plain data."""
        data: dict[str, Any] = serialize_type(self)
        return data

    @staticmethod
    def decoder(data: Any) -> BaseTokenizerMsg:
        """The message in untrusted plain data. ValueError when it is none of this module's."""
        msg = deserialize_type(globals(), data)
        if not isinstance(msg, BaseTokenizerMsg):
            raise ValueError(f"expected a message to a tokenizer, not a {type(msg).__name__}")
        return msg


@dataclass
class BatchTokenizerMsg(BaseTokenizerMsg):
    """Several messages that travel together."""

    data: list[BaseTokenizerMsg]


@dataclass
class DetokenizeMsg(BaseTokenizerMsg):
    """One generated token. When `finished`, it was the request's last.

    With `finish_reason` "stop" the token ended the text and is no part of it. With "error" there is no token:
    `next_token` is -1 and `error` says what happened.
    """

    uid: int
    next_token: int
    finished: bool
    finish_reason: str | None = None  # "stop", "length", "abort" or "error", once finished
    error: str | None = None


@dataclass
class TokenizeMsg(BaseTokenizerMsg):
    """Turn a prompt into tokens and have it continued."""

    uid: int
    prompt: str | list[int] | list[dict[str, Any]]  # a text, token ids, or the messages of a chat
    sampling_params: SamplingParams


@dataclass
class AbortMsg(BaseTokenizerMsg):
    """Stop a request: whoever asked has gone, or has enough."""

    uid: int
