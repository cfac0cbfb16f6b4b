"""The shim beside real torch, under another name; the tab's readers beside what they stand for."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import Phase, settings

ROOT = Path(__file__).resolve().parents[2]
SHIM, READERS = ROOT / "web" / "torch_shim", ROOT / "web" / "tab_io"


def load_as(name: str, folder: Path) -> ModuleType:
    """The package in `folder`, imported as `name`."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


@pytest.fixture(scope="session")
def shim() -> ModuleType:
    return load_as("shim_torch", SHIM / "torch")


@pytest.fixture(scope="session")
def tab_tokenizers() -> ModuleType:
    return load_as("tab_tokenizers", READERS / "tokenizers")


@pytest.fixture(scope="session")
def tab_safetensors() -> ModuleType:
    return load_as("tab_safetensors", READERS / "safetensors")


# Several failures are sooner seen as they were drawn: --hypothesis-profile=as-drawn
settings.register_profile("as-drawn", phases=[Phase.explicit, Phase.generate], deadline=None)
