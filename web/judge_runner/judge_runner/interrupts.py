"""Ctrl-C from the page: stops learner code, and is told from what learner code raises itself."""

from __future__ import annotations

import signal
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """The page asked to stop."""


class _State:
    asked = False


def watch() -> None:
    """Take interrupts from now on, and forget former ones. Learner code may have changed the handler."""
    _State.asked = False
    signal.signal(signal.SIGINT, _handle)


def was_asked() -> bool:
    """Whether the page has asked to stop since ``watch``, also if learner code caught what that raised."""
    return _State.asked


def _handle(number: int, frame: FrameType | None) -> None:
    _State.asked = True
    raise Interrupted
