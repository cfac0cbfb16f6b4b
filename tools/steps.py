"""The engine as it stands after each chapter.

python -m tools.steps tree 7     # the files of chapter 7's engine, what is new and what is modified
python -m tools.steps diff 8     # what chapter 8 changed
python -m tools.steps check      # rebuild every chapter's engine and run its example and its tests
python -m tools.steps write 7 DIR  # put chapter 7's engine into a folder, to read or to run

The final engine is `minisgl/`. An older version of a file is a whole file, `chapters/steps/KK/<path>`, valid
from chapter KK until the next version. `chapters/steps.toml` says which chapter brings, and which changes, a
file.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools.book.manifest import Step, load_steps

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = Path("chapters/steps")
ENGINE = "minisgl"
# Not code, hence in no chapter: the bundled model.
_APART = f"{ENGINE}/assets/"


class Steps:
    """The manifest, and where each version of a file is."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.steps: dict[int, Step] = load_steps(root)
        self.chapters_of: dict[str, list[int]] = {}  # path -> the chapters that have a version of it
        for chapter, step in self.steps.items():
            for path in (*step.new, *step.modified):
                self.chapters_of.setdefault(path, []).append(chapter)

    def version(self, path: str, chapter: int) -> Path | None:
        """Where the file of `path` is as chapter `chapter` has it; None when it is not there yet."""
        versions = [each for each in self.chapters_of.get(path, ()) if each <= chapter]
        if not versions:
            return None
        if versions[-1] == self.chapters_of[path][-1]:
            return self.root / path
        return self.root / VERSIONS / f"{versions[-1]:02d}" / path

    def tree(self, chapter: int) -> dict[str, Path]:
        """All files of a chapter's engine, and where each is."""
        found = {path: self.version(path, chapter) for path in sorted(self.chapters_of)}
        return {path: source for path, source in found.items() if source is not None}

    def brought_early(self, chapter: int) -> list[str]:
        """Imports of the chapter's engine that name a module which is not in it, as "file: module"."""
        tree = self.tree(chapter)
        modules = {_module(path) for path in tree if path.endswith(".py")}
        return [
            f"{path}: {name}"
            for path, source in tree.items()
            if path.endswith(".py")
            for name in sorted(set(_imports(path, source)))
            if name not in modules
        ]

    def problems(self) -> list[str]:
        """What does not fit between the manifest, the older versions and the final engine."""
        found: list[str] = []
        for path, chapters in self.chapters_of.items():
            texts = []
            for chapter in chapters:
                source = self.version(path, chapter)
                assert source is not None
                if not source.is_file():
                    found.append(f"chapter {chapter}: {source.relative_to(self.root)} is missing")
                else:
                    texts.append(source.read_text(encoding="utf-8"))
            for chapter, before, after in zip(chapters[1:], texts, texts[1:], strict=False):
                if before == after:
                    found.append(f"chapter {chapter}: {path} is listed as modified, but is the same")
        expected = {
            f"{chapter:02d}/{path}" for path, each in self.chapters_of.items() for chapter in each[:-1]
        }
        versions = self.root / VERSIONS
        for file in _files(versions):
            if (name := file.relative_to(versions).as_posix()) not in expected:
                found.append(f"{VERSIONS / name} belongs to no chapter of the manifest")
        for file in _files(self.root / ENGINE):
            path = file.relative_to(self.root).as_posix()
            if path not in self.chapters_of and not path.startswith(_APART):
                found.append(f"{path} is brought by no chapter")
        return found

    def write(self, chapter: int, folder: Path) -> None:
        """Put a chapter's engine into an empty folder; the bundled model is linked."""
        for path, source in self.tree(chapter).items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
        if (folder / ENGINE).is_dir() and (self.root / _APART).is_dir():
            (folder / _APART.rstrip("/")).symlink_to(self.root / _APART)

    def run(self, chapter: int) -> list[str]:
        """Rebuild a chapter's engine and run its example and its tests there; what went wrong."""
        early = [f"chapter {chapter}: {what} is brought in early" for what in self.brought_early(chapter)]
        if early:
            return early
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.write(chapter, folder)
            for part in ("tests/chapters", "tests/examples"):
                shutil.copytree(self.root / part, folder / part)
            return [*self._run_example(chapter, folder), *self._run_tests(chapter, folder)]

    def _run_example(self, chapter: int, folder: Path) -> list[str]:
        main = self.steps[chapter].main
        if not main:
            return []
        stored = self.root / "tests" / "examples" / f"{Path(main).stem}.txt"
        done = _python(folder, main)
        if done.returncode:
            return [f"chapter {chapter}: {main} failed\n{done.stderr[-2000:]}"]
        if done.stdout != stored.read_text(encoding="utf-8"):
            return [f"chapter {chapter}: {main} does not print {stored.name}, but\n{done.stdout}"]
        return []

    def _run_tests(self, chapter: int, folder: Path) -> list[str]:
        tests = sorted(
            file.relative_to(folder).as_posix()
            for file in (folder / "tests" / "chapters").glob(f"test_ch{chapter:02d}_*.py")
        )
        if not tests:
            return []
        done = _python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
        return [f"chapter {chapter}: its tests fail\n{done.stdout[-2000:]}"] if done.returncode else []


def _python(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder with nothing but that folder's packages of ours."""
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *args], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(path: str, source: Path) -> Iterator[str]:
    """Modules of the engine that a file imports, wherever in it."""
    package = _module(path) if path.endswith("/__init__.py") else _module(path).rpartition(".")[0]
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"), str(source))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == ENGINE)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            if base.split(".")[0] == ENGINE:
                yield base


def print_tree(steps: Steps, chapter: int) -> None:
    """The files of a chapter, and how many are new, modified, or needed before they are brought."""
    step = steps.steps[chapter]
    for path in steps.tree(chapter):
        mark = "new" if path in step.new else "modified" if path in step.modified else ""
        print(f"{path:<48} {mark}".rstrip())
    early = len(steps.brought_early(chapter))
    new, modified = len(step.new), len(step.modified)
    print(f"{len(steps.tree(chapter))} files ({new} new, {modified} modified, {early} brought in early)")


def print_diff(steps: Steps, chapter: int) -> None:
    """What a chapter changed, as a unified diff."""
    step = steps.steps[chapter]
    for path in (*step.new, *step.modified):
        now, before = steps.version(path, chapter), steps.version(path, chapter - 1)
        assert now is not None
        old = before.read_text(encoding="utf-8").splitlines(keepends=True) if before else []
        new = now.read_text(encoding="utf-8").splitlines(keepends=True)
        origin = f"a/{path}" if before else "/dev/null"
        sys.stdout.writelines(difflib.unified_diff(old, new, origin, f"b/{path}"))


def check(steps: Steps, chapters: Iterable[int]) -> int:
    """Status 0 if the manifest is whole and every chapter's example and tests run; else 1, with reasons."""
    failed = steps.problems()
    for chapter in chapters:
        wrong = steps.run(chapter)
        print(f"chapter {chapter}: {'failed' if wrong else 'ok'}", flush=True)
        failed += wrong
    for what in failed:
        print(what, file=sys.stderr)
    return 1 if failed else 0


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.steps", description="The engine as it stands after each chapter."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("check", help="rebuild and run chapters (default: all)")
    one.add_argument("chapters", type=int, nargs="*")
    for name, words in (("tree", "list a chapter's files"), ("diff", "show what a chapter changed")):
        commands.add_parser(name, help=words).add_argument("chapter", type=int)
    write = commands.add_parser("write", help="put a chapter's engine into a new folder")
    write.add_argument("chapter", type=int)
    write.add_argument("folder", type=Path)
    args = parser.parse_args(argv)
    try:
        steps = Steps()
    except LookupError as error:
        parser.exit(1, f"{error}\n")
    asked = args.chapters if args.command == "check" else [args.chapter]
    if unknown := [chapter for chapter in asked if chapter not in steps.steps]:
        parser.error(f"no such chapter: {unknown[0]}; there are {', '.join(map(str, steps.steps))}")
    if args.command == "check":
        return check(steps, asked or steps.steps)
    if args.command == "tree":
        print_tree(steps, args.chapter)
    elif args.command == "diff":
        print_diff(steps, args.chapter)
    else:
        if args.folder.exists() and any(args.folder.iterdir()):
            parser.error(f"{args.folder} is not empty: name a new folder")
        steps.write(args.chapter, args.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
