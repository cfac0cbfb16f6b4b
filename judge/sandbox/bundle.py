"""What a box may import of the project: the engine without the exercise's own target, and the inside driver.

The target's body is cut out here, outside of the box, on the syntax tree: what is not in the bundle cannot be
read from the box's memory, however hard somebody looks.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import msgspec

_JUDGE_PARTS = (
    "judge.sandbox.importer",
    "judge.sandbox.protocol",
    "judge.sandbox.tensors",
    "judge.sandbox.values",
)
_PACKAGES = ("minisgl", "judge.sandbox.inside", "judge.swap")
_EMPTY = ("judge", "judge.sandbox", "examples")
_ONE_FILE = "examples.ch00_tiny_engine"
_ONE_FILE_PATH = Path(__file__).parents[2].joinpath(*_ONE_FILE.split(".")).with_suffix(".py")
ENGINES = ("minisgl", "examples")
"""Packages with bodies of targets: they enter a process only with an exercise's own one cut out."""
_Fingerprint = frozenset[tuple[str, int, int]]


class Bundle(msgspec.Struct, frozen=True):
    """Sources by module name, and which of them are packages. ``key`` tells bundles apart."""

    key: str
    sources: dict[str, str]
    packages: list[str]


class Targeted(Protocol):
    """The part of an exercise that says what is cut out."""

    @property
    def target(self) -> str: ...

    @property
    def members(self) -> Sequence[str]: ...

    @property
    def also_cut(self) -> Sequence[str]:
        """Other functions that do the same: a submission must not call them instead."""


class UnknownTarget(LookupError):
    """An exercise names a target that the engine does not define."""


def make_bundle(exercise: Targeted | None) -> Bundle:
    """The bundle of an exercise; with None nothing is cut out (for the reference's run).

    Raises UnknownTarget when the engine lacks the target.
    """
    if exercise is None:
        return _make_bundle("", (), (), _fingerprint())
    return _make_bundle(exercise.target, tuple(exercise.members), tuple(exercise.also_cut), _fingerprint())


@lru_cache(maxsize=64)
def _make_bundle(
    target: str, members: tuple[str, ...], also_cut: tuple[str, ...], _fingerprint: _Fingerprint
) -> Bundle:
    sources: dict[str, str] = dict.fromkeys(_EMPTY, "")
    packages = set(_EMPTY)
    for name, path, is_package in _modules():
        sources[name] = path.read_text(encoding="utf-8")
        if is_package:
            packages.add(name)
    sources[_ONE_FILE] = _ONE_FILE_PATH.read_text(encoding="utf-8")
    module, _, qualified = target.rpartition(":")
    if not module and _find(ast.parse(sources[_ONE_FILE]), target):
        module = _ONE_FILE
    cuts: list[tuple[str, str, Sequence[str]]] = [(module, qualified, members)] if module else []
    cuts += [(module, name, ()) for module, _, name in (twin.partition(":") for twin in also_cut)]
    for module, name, methods in cuts:
        if module not in sources:
            raise UnknownTarget(f"{module}:{name}: there is no module {module}")
        sources[module] = cut_out(sources[module], name, methods)
    digest = hashlib.sha256()
    for name in sorted(sources):
        digest.update(f"{name}\0{sources[name]}\0".encode())
    return Bundle(f"{qualified or target or 'all'}-{digest.hexdigest()[:16]}", sources, sorted(packages))


def cut_out(source: str, qualified: str, members: Iterable[str] = ()) -> str:
    """``source`` with the body of ``qualified`` ("cache_req", "CacheManager.cache_req") replaced.

    A class loses the bodies of ``members``, or of all its methods when none are named. Comments go, too.
    Raises UnknownTarget.
    """
    tree = ast.parse(source)
    found = _find(tree, qualified)
    if not found:
        raise UnknownTarget(f"there is no {qualified} in this module")
    wanted = set(members)
    for node in found:
        if not isinstance(node, ast.ClassDef):
            _empty(node)
            continue
        methods = [item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)]
        missing = wanted - {method.name for method in methods}
        if missing:
            raise UnknownTarget(f"{qualified} does not define {', '.join(sorted(missing))}")
        for method in methods:
            if not wanted or method.name in wanted:
                _empty(method)
    return ast.unparse(ast.fix_missing_locations(tree)) + "\n"


def _find(tree: ast.Module, qualified: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    """All definitions of that name: a property has several, and so may a function defined by platform."""
    scopes: list[ast.AST] = [tree]
    found: list[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef] = []
    for part in qualified.split("."):
        found = [node for scope in scopes for node in _definitions(scope) if node.name == part]
        scopes = list(found)
    return found


def _definitions(scope: ast.AST) -> Iterable[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _definitions(node)


def _empty(function: ast.AST) -> None:
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    message = f"{function.name} is the function of this exercise: its body is yours to write"
    function.body = list(ast.parse(f"raise NotImplementedError({message!r})").body)


def _modules() -> list[tuple[str, Path, bool]]:
    """Name, file and whether it is a package, for all that may be in a bundle."""
    found = []
    for package in _PACKAGES:
        folder = _folder(package)
        if folder is not None:
            found += [_describe(package, folder, path) for path in sorted(folder.rglob("*.py"))]
    for name in _JUDGE_PARTS:
        found.append((name, Path(__file__).parent / f"{name.rpartition('.')[2]}.py", False))
    return found


def _folder(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _describe(package: str, folder: Path, path: Path) -> tuple[str, Path, bool]:
    parts = [package, *path.relative_to(folder).with_suffix("").parts]
    is_package = parts[-1] == "__init__"
    return ".".join(parts[:-1] if is_package else parts), path, is_package


def _fingerprint() -> _Fingerprint:
    """Changes whenever a file that goes into bundles does; looked at once a second.

    Every submission asks for it, and that many files take a millisecond.
    """
    return _fingerprint_at(int(time.monotonic()))


@lru_cache(maxsize=1)
def _fingerprint_at(_second: int) -> _Fingerprint:
    folders = [folder for package in _PACKAGES if (folder := _folder(package)) is not None]
    entries = [entry for folder in folders for entry in _python_files(folder)]
    entries += [entry for entry in os.scandir(Path(__file__).parent) if entry.name.endswith(".py")]
    entries += [entry for entry in os.scandir(_ONE_FILE_PATH.parent) if entry.path == str(_ONE_FILE_PATH)]
    return frozenset((e.path, e.stat().st_mtime_ns, e.stat().st_size) for e in entries)


def _python_files(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    for entry in os.scandir(folder):
        if entry.name.endswith(".py"):
            yield entry
        elif entry.is_dir():
            yield from _python_files(entry.path)
