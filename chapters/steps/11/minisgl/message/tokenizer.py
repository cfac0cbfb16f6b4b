"""Messages from the scheduler to whoever turns tokens into text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class DetokenizeMsg:
    """One generated token. When `finished`, it was the request's last.

    With `finish_reason` "stop" the token ended the text and is no part of it. With "error" there is no token:
    `next_token` is -1 and `error` says what happened.
    """

    uid: int
    next_token: int
    finished: bool
    finish_reason: str | None = None  # "stop", "length" or "error", once finished
    error: str | None = None
