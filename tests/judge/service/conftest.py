"""Services for the tests, without and with a worker."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from judge.service.settings import Settings

sys.path.insert(0, str(Path(__file__).parent))

from course import make_course, make_site
from running import Running, quick, start


@pytest.fixture
def course(tmp_path: Path) -> Path:
    return make_course(tmp_path / "course")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    make_site(tmp_path / "site")
    return quick(tmp_path)


@pytest.fixture
def make_service(course: Path, tmp_path: Path) -> Iterator[Any]:
    """Starts services; ends them with the test."""
    started: list[Running] = []

    def make(settings: Settings) -> Running:
        started.append(start(settings, course, tmp_path))
        return started[-1]

    yield make
    for service in started:
        service.stop()


@pytest.fixture
def idle(make_service: Any, settings: Settings) -> Running:
    """A service without a worker."""
    return make_service(settings)  # type: ignore[no-any-return]


@pytest.fixture
def service(idle: Running) -> Running:
    """A service with a worker."""
    idle.start_worker()
    return idle
