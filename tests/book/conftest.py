"""The book, built once for all tests that look at it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.book.build import build


@pytest.fixture(scope="session")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both trees."""
    out = tmp_path_factory.mktemp("book") / "out"
    build(out)
    return out
