"""What the tests of the cell magics share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from judge.notebook import load_ipython_extension


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A real IPython shell, in English, with the magics."""
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    load_ipython_extension(shell)
    yield shell
    InteractiveShell.clear_instance()
