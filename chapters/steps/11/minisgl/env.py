"""Settings read from environment variables named `MINISGL_...` when the package is imported."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class EnvVar(Generic[T]):
    """One setting. `value` is what the environment says, else the default; it may be assigned.

    Raises:
        ValueError: the environment's text cannot be read; the message names the variable.
    """

    def __init__(self, name: str, default: T, parse: Callable[[str], T]) -> None:
        self.name = f"MINISGL_{name}"
        self.value = default
        text = os.environ.get(self.name)
        if text is not None:
            try:
                self.value = parse(text)
            except ValueError as error:
                raise ValueError(f"environment variable {self.name}={text!r}: {error}") from error

    def __repr__(self) -> str:
        return f"{self.name}={self.value!r}"


def parse_bool(text: str) -> bool:
    """`1`, `true`, `yes`, `on` or `0`, `false`, `no`, `off`, in any case. ValueError otherwise."""
    word = text.strip().lower()
    if word in ("1", "true", "yes", "on"):
        return True
    if word in ("0", "false", "no", "off", ""):
        return False
    raise ValueError("expected 1 or 0")


class Env:
    """All settings, as attributes."""

    def __init__(self) -> None:
        self.DISABLE_OVERLAP_SCHEDULING = EnvVar("DISABLE_OVERLAP_SCHEDULING", False, parse_bool)


ENV = Env()
