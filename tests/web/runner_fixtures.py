"""Fixtures of the runner's tests. Building takes half a minute, starting Python some seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from runner_site import RunnerPage, StaticSite, make_site, open_page


@pytest.fixture(scope="session")
def runner_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StaticSite]:
    folder = tmp_path_factory.mktemp("runner")
    make_site(folder)
    site = StaticSite(folder)
    site.start()
    yield site
    site.stop()


@pytest.fixture(scope="module")
def runner(browser: Browser, runner_site: StaticSite) -> Iterator[RunnerPage]:
    """One page for the tests of a file: Python starts once."""
    page = open_page(browser, runner_site)
    page.call("warm")
    yield page
    page.page.context.close()
