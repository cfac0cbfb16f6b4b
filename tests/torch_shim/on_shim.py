"""A pytest plugin: run the engine's own tests on the shim, less those that need what only real torch has.

    PYTHONPATH=web/torch_shim:web/tab_io:tests/torch_shim:. python -m pytest -p on_shim tests/minisgl

The list below is all that is left out, with reasons.
"""

from __future__ import annotations

import fnmatch
import importlib
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

ROOT = Path(__file__).resolve().parents[2]
LEFT_OUT = ROOT / "tests" / "torch_shim" / "left_out.txt"


class _Peer:
    """Stands for a name of transformers: test modules may import it, and no test that runs may use it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"{self._name} needs real torch: name this test in {LEFT_OUT.name}")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Peer(f"{self._name}.{name}")

    def __getitem__(self, key: Any) -> Any:
        return _Peer(f"{self._name}[{key!r}]")


class _PeerModule(ModuleType):
    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Peer(f"{self.__name__}.{name}")


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname.split(".")[0] in ("transformers", "triton", "flashinfer"):
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _PeerModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


os.environ["MINISGL_KERNELS"] = "torch"  # no Triton, not even its interpreter
sys.meta_path.insert(0, _Finder())
sys.modules["peer_models"] = importlib.import_module("numpy_peer")  # in place of models of transformers


def patterns() -> dict[str, str]:
    """Patterns of tests that are left out, and the reason of each."""
    found: dict[str, str] = {}
    reason = ""
    for line in LEFT_OUT.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line.strip():
            found[line.strip()] = reason
    return found


def _matches(nodeid: str, pattern: str) -> bool:
    return fnmatch.fnmatchcase(nodeid, pattern) or nodeid.startswith((f"{pattern}[", f"{pattern}::"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    path = collection_path.relative_to(ROOT).as_posix() if collection_path.is_relative_to(ROOT) else ""
    return True if any(path == pattern.rstrip("/") for pattern in patterns()) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    listed = patterns()
    kept, dropped = [], []
    for item in items:
        out = any(_matches(item.nodeid, pattern.replace("[", "[[]")) for pattern in listed)
        (dropped if out else kept).append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


def pytest_sessionstart(session: pytest.Session) -> None:
    import torch

    assert "minisgl" in torch.__version__, f"this is real torch, {torch.__version__}: put the shim first"
