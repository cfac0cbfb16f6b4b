"""Messages from the scheduler to whoever turns tokens into text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class DetokenizeMsg:
    """One generated token. When `finished`, it was the request's last."""

    uid: int
    next_token: int
    finished: bool
