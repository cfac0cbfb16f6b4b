"""What the judge's tests share: a toy exercise to break, and one pool of boxes for all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import toy

from judge.exercises import Exercise
from judge.sandbox import Pool


@pytest.fixture
def make_toy(tmp_path: Path) -> Callable[..., Exercise]:
    """``make_toy(hidden=..., toml=...)``: the toy exercise with these files changed."""
    return lambda **changed: toy.toy(tmp_path, **changed)


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    """Boxes as this host can isolate them."""
    with Pool() as shared:
        yield shared
