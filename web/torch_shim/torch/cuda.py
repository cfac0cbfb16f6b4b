"""torch.cuda: there is none, and whoever asks is told so."""

from __future__ import annotations

from typing import Any

from ._absent import missing_attribute


class Stream:
    """A type to be asked about; none is ever made."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError("there is no CUDA in the tab")


class Event(Stream):
    pass


class CUDAGraph(Stream):
    pass


def is_available() -> bool:
    return False


def is_initialized() -> bool:
    return False


def device_count() -> int:
    return 0


def manual_seed(seed: int) -> None:
    pass


def manual_seed_all(seed: int) -> None:
    pass


def empty_cache() -> None:
    pass


def synchronize(device: Any = None) -> None:
    raise RuntimeError("there is no CUDA in the tab")


def __getattr__(name: str) -> Any:
    missing_attribute("torch.cuda", name)
