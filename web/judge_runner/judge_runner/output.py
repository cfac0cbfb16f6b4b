"""What learner code prints, on its way to the page: in pieces, and not without end."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LIMIT = 64 * 1024
"""Characters of a run, as in the judge."""

_PIECE = 4096
_EVERY_S = 0.05


class OutputLimit(BaseException):
    """The run prints more than the limit. No Exception, so that a bare ``except Exception`` lets it pass."""


class Output(io.TextIOBase):
    """A text stream that hands on what is written, and stops the writer at the limit."""

    def __init__(self, send: Callable[[str], None] | None = None) -> None:
        self.printed = 0
        self._kept: list[str] = []
        self._waiting: list[str] = []
        self._send = send
        self._last = time.monotonic()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        room = LIMIT - self.printed
        self.printed += len(text)
        if room > 0:
            self._kept.append(text[:room])
            self._waiting.append(text[:room])
        if self._send and (time.monotonic() - self._last > _EVERY_S or len(self._waiting) > _PIECE):
            self.flush()
        if self.printed > LIMIT:
            self.flush()
            raise OutputLimit
        return len(text)

    def flush(self) -> None:
        if self._send and self._waiting:
            self._send("".join(self._waiting))
        self._waiting.clear()
        self._last = time.monotonic()

    @property
    def text(self) -> str:
        """All that was printed, up to the limit."""
        return "".join(self._kept)


@contextmanager
def printing_to(output: Output) -> Iterator[None]:
    """Send stdout and stderr there; whatever learner code makes of them, both are back at the end."""
    before = sys.stdout, sys.stderr
    sys.stdout = sys.stderr = output
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
        output.flush()
