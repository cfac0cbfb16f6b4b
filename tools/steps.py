"""The engine as it stands after each chapter.

python -m tools.steps tree 7     # the files of chapter 7's engine, what is new and what is modified
python -m tools.steps diff 8     # what chapter 8 changed
python -m tools.steps check      # rebuild every chapter's engine and run its examples and its tests
python -m tools.steps carry      # take what you have changed in minisgl/ over into the older versions
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
from functools import cache
from pathlib import Path

from tools.book.manifest import Step, load_steps

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = Path("chapters/steps")
ENGINE = "minisgl"
# Not code, hence in no chapter: the bundled model.
_APART = f"{ENGINE}/assets/"
_READ = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Name)


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
        """Imports of the chapter's engine that name what is not in it, a module or a name of one, as
        "file: module" or "file: module.name".
        """
        tree = {path: source for path, source in self.tree(chapter).items() if path.endswith(".py")}
        names = {_module(path): _names(source) for path, source in tree.items()}
        return [
            f"{path}: {module}{'.' * bool(name)}{name}"
            for path, source in tree.items()
            for module, name in sorted(set(_imports(path, source)))
            if not (module in names and (not name or name in names[module] or f"{module}.{name}" in names))
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
        """Rebuild a chapter's engine and run its examples and its tests there; what went wrong."""
        early = [f"chapter {chapter}: {what} is brought in early" for what in self.brought_early(chapter)]
        if early:
            return early
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.write(chapter, folder)
            for part in ("tests/chapters", "tests/examples"):
                shutil.copytree(self.root / part, folder / part)
            step = self.steps[chapter]
            wrong = [self._run_example(program, folder) for program in (step.main, step.milestone) if program]
            wrong.append(self._run_tests(chapter, folder))
            return [f"chapter {chapter}: {what}" for what in wrong if what]

    def _run_example(self, program: str, folder: Path) -> str:
        """What is wrong with what the program prints; nothing when it is as stored."""
        stored = self.root / "tests" / "examples" / f"{Path(program).stem}.txt"
        done = _python(folder, program)
        if done.returncode:
            return f"{program} failed\n{done.stderr[-2000:]}"
        if done.stdout != stored.read_text(encoding="utf-8"):
            return f"{program} does not print {stored.name}, but\n{done.stdout}"
        return ""

    def _run_tests(self, chapter: int, folder: Path) -> str:
        tests = sorted(
            file.relative_to(folder).as_posix()
            for file in (folder / "tests" / "chapters").glob(f"test_ch{chapter:02d}_*.py")
        )
        if not tests:
            return ""
        done = _python(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
        return f"its tests fail\n{done.stdout[-2000:]}" if done.returncode else ""

    def carry(self, since: str) -> list[str]:
        """Take over into the older versions what has changed in the engine since a commit.

        Changes of lines that an older version does not have, or has otherwise, are left out of it.

        Returns:
            One line a version, with what happened.
        """
        told: list[str] = []
        for path, chapters in self.chapters_of.items():
            before = _git(self.root, "show", f"{since}:{path}").stdout
            if not before:
                continue
            now = (self.root / path).read_text(encoding="utf-8")
            for chapter in chapters[:-1] if now != before else ():
                older = self.version(path, chapter)
                assert older is not None
                text = older.read_text(encoding="utf-8")
                merged, left_out = _merge(text, before, now)
                if merged != text:
                    older.write_text(merged, encoding="utf-8")
                what = "changed" if merged != text else "as before"
                left = f"; conflicts, left out: {left_out}. Look whether it needs them" if left_out else ""
                told.append(f"{older.relative_to(self.root)}: {what}{left}")
        return told


def _python(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder with nothing but that folder's packages of ours."""
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *args], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
    )


def _git(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True)


def _merge(ours: str, base: str, theirs: str) -> tuple[str, int]:
    """`ours` with what leads from `base` to `theirs`, and how many changes conflict: there, ours stays."""
    with tempfile.TemporaryDirectory() as name:
        folder, files = Path(name), ("ours", "base", "theirs")
        for file, text in zip(files, (ours, base, theirs), strict=True):
            (folder / file).write_text(text, encoding="utf-8")
        conflicts = _git(folder, "merge-file", "-p", *files).returncode
        return _git(folder, "merge-file", "-p", "--ours", *files).stdout, conflicts


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imports(path: str, source: Path) -> Iterator[tuple[str, str]]:
    """What a file imports of the engine when it runs, wherever in it: module and name, "" for no name."""
    package = _module(path) if path.endswith("/__init__.py") else _module(path).rpartition(".")[0]
    for node in _read(source):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.split(".")[0] == ENGINE)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            if base.split(".")[0] == ENGINE:
                yield from ((base, alias.name) for alias in node.names)


def _names(source: Path) -> set[str]:
    """Whatever may be imported from a module, and more: all that is defined, assigned or imported in it."""
    names: set[str] = set()
    for node in _read(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names.update(alias.asname or alias.name for alias in node.names)
    return names


def _read(source: Path) -> list[ast.AST]:
    """What imports and names of a file are read from. What is imported for annotations alone is left out: it
    need not be there yet.
    """
    return _nodes(source.read_text(encoding="utf-8"))


@cache
def _nodes(text: str) -> list[ast.AST]:
    tree = ast.parse(text)
    unread = {
        node
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    return [node for node in ast.walk(tree) if isinstance(node, _READ) and node not in unread]


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
    """Status 0 if the manifest is whole and every chapter's examples and tests run; else 1, with reasons."""
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
    carry = commands.add_parser("carry", help="take changes of the engine over into the older versions")
    carry.add_argument("since", nargs="?", default="HEAD", help="changed since this commit (default: HEAD)")
    write = commands.add_parser("write", help="put a chapter's engine into a new folder")
    write.add_argument("chapter", type=int)
    write.add_argument("folder", type=Path)
    args = parser.parse_args(argv)
    try:
        steps = Steps()
    except LookupError as error:
        parser.exit(1, f"{error}\n")
    if args.command == "carry":
        print("\n".join(steps.carry(args.since)) or "no older version had to change")
        return 0
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
