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
