"""Imports modules from source held in memory, so that a box needs no file of the project.

Standard library only: this is the first code that a zygote or a weak box runs.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Collection, Sequence
from types import CodeType, ModuleType


class MemoryImporter(importlib.abc.InspectLoader):
    """Finder and loader of the modules in ``sources``; their file names begin with ``root``."""

    def __init__(self, sources: dict[str, str], packages: Collection[str], root: str) -> None:
        self.sources = sources
        self.packages = frozenset(packages)
        self.root = root.rstrip("/")

    def add(self, sources: dict[str, str], packages: Collection[str]) -> None:
        """Know these modules, too; what is imported already stays as it is."""
        self.sources = {**self.sources, **sources}
        self.packages |= frozenset(packages)

    def filename(self, name: str) -> str:
        """The name that tracebacks and ``__file__`` show for a module."""
        path = f"{self.root}/{name.replace('.', '/')}"
        return f"{path}/__init__.py" if name in self.packages else f"{path}.py"

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The module's spec when it is one of ours."""
        if name not in self.sources:
            return None
        origin = self.filename(name)
        spec = importlib.machinery.ModuleSpec(name, self, origin=origin, is_package=name in self.packages)
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(origin.rpartition("/")[0])
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The default module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's source in it."""
        exec(self.get_code(module.__name__), module.__dict__)

    def get_code(self, name: str) -> CodeType:
        """The compiled module (for ``runpy`` and ``inspect``)."""
        return compile(self.sources[name], self.filename(name), "exec", dont_inherit=True)

    def get_source(self, name: str) -> str:
        """The module's source (for ``linecache`` and ``inspect``)."""
        return self.sources[name]

    def is_package(self, name: str) -> bool:
        """Whether ``name`` is a package."""
        return name in self.packages


def install(sources: dict[str, str], packages: Collection[str], root: str) -> MemoryImporter:
    """Put an importer of ``sources`` before all other finders."""
    importer = MemoryImporter(sources, packages, root)
    sys.meta_path.insert(0, importer)
    return importer
