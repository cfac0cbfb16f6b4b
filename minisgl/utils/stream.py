"""Streams of a device, and what stands for them on a CPU."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

import torch


class Stream(Protocol):
    """Work for a device, done in the order in which it was given."""

    def wait_stream(self, other: Any, /) -> None:
        """Let what comes next wait for what the stream `other` has been given so far."""

    def synchronize(self) -> None:
        """Wait for everything."""


class NoStream:
    """The stream of a device without any: when a call returns, all that came before it has happened."""

    def wait_stream(self, other: Stream, /) -> None:
        pass

    def synchronize(self) -> None:
        pass


def new_stream(device: torch.device) -> Stream:
    """A stream beside the current one."""
    return torch.cuda.Stream(device) if device.type == "cuda" else NoStream()


def current_stream(device: torch.device) -> Stream:
    """The stream that work on the device goes to at the moment."""
    return torch.cuda.current_stream(device) if device.type == "cuda" else NoStream()


def on_stream(stream: Stream) -> AbstractContextManager[object]:
    """Work of the block goes to `stream`. May be entered again and again."""
    return torch.cuda.stream(stream) if isinstance(stream, torch.cuda.Stream) else nullcontext()
