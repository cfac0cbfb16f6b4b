"""Find, load and check exercises.

An exercise is the folder ``chapters/exercises/NNN_slug`` (``exercise.toml``, ``zh.md``, ``en.md``,
``samples.py``), the solution ``solutions/NNN_slug.py`` and the hidden module ``judge/hidden/NNN_slug.py``.
Everything that is wrong with one of them is an ExerciseError that names the file, the field and what to do.
"""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from judge import own_run
from judge.exercise_toml import ExerciseError, Table
from judge.i18n import LANGS

if TYPE_CHECKING:
    from judge.hidden_module import Hidden
    from judge.types import Text

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("chapters/exercises")
_TARGET = re.compile(r"(?:(?P<module>[a-z_][\w.]*):)?(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")


@dataclass(frozen=True)
class ExerciseLimits:
    """What a submission may use: CPU seconds and memory of the unit part, size of its source."""

    cpu_s: float = 2.0
    memory_mb: int = 256
    source_kb: int = 64


@dataclass(frozen=True)
class Rule:
    """A rule of the chapter; ``number`` is what messages refer to."""

    number: int
    text: Text


@dataclass(frozen=True)
class Exercise:
    """One exercise. Texts are in both languages; paths are absolute, below ``root``."""

    root: Path
    id: int
    slug: str
    chapter: str
    level: Literal["easy", "medium", "hard"]
    points: int
    form: Literal["write", "find_the_bug", "write_the_tests"]
    place: Literal["engine", "adapter", "none"]
    target: str
    members: tuple[str, ...]
    also_cut: tuple[str, ...]
    browser: Literal["all", "unit", "server"]
    limits: ExerciseLimits
    rules: tuple[Rule, ...]
    hints: tuple[Text, ...]
    title: Text
    minutes: int
    engine_text: dict[str, tuple[str, ...]]

    @property
    def key(self) -> str:
        """``NNN_slug``, the name of its folder and files."""
        return f"{self.id}_{self.slug}"

    @property
    def folder(self) -> Path:
        return self.root / FOLDER / self.key

    @cached_property
    def solution_path(self) -> Path:
        return self.root / "solutions" / f"{self.key}.py"

    @property
    def hidden_path(self) -> Path:
        return self.root / "judge" / "hidden" / f"{self.key}.py"

    @property
    def starter_path(self) -> Path:
        """The wrong function that a find-the-bug exercise starts from."""
        return self.folder / "starter.py"

    @property
    def module(self) -> str | None:
        """The module of an engine target, ``minisgl.scheduler.cache``; None for a bare name."""
        return self.target.partition(":")[0] if ":" in self.target else None

    @property
    def qualname(self) -> str:
        """The target inside its module, ``CacheManager.cache_req``."""
        return self.target.rpartition(":")[2]

    @property
    def name(self) -> str:
        """What the learner's file has to define, ``cache_req``."""
        return self.qualname.rpartition(".")[2]

    @property
    def kind(self) -> Literal["function", "class"]:
        """A class target has members or, where it is not the engine's, a capitalised name."""
        return "class" if self.members or self.name[0].isupper() else "function"

    def statement(self, lang: str) -> str:
        """The statement, Markdown."""
        return (self.folder / f"{lang}.md").read_text(encoding="utf-8")

    @cached_property
    def samples(self) -> str:
        """The source of the public samples."""
        return (self.folder / "samples.py").read_text(encoding="utf-8")

    @cached_property
    def own_run(self) -> str | None:
        """Source of what plays the learner's code where the engine does not; see judge/own_run.py."""
        path = self.folder / own_run.FILE
        return path.read_text(encoding="utf-8") if path.is_file() else None

    @cached_property
    def solution(self) -> str:
        """The reference's source. Never leaves the trusted side."""
        return _read(self.solution_path, "The reference belongs there")

    @cached_property
    def hidden(self) -> Hidden:
        """The hidden module, loaded by path. Never leaves the trusted side."""
        from judge.hidden_module import load_hidden

        return load_hidden(self)


def load_exercises(root: Path = ROOT) -> dict[int, Exercise]:
    """All exercises below ``root`` by number, ascending. Raises ExerciseError at the first that is wrong."""
    base = root / FOLDER
    if not base.is_dir():
        raise ExerciseError(base, "", "is not a folder", "Run the command in the course's own folder")
    found: dict[int, Exercise] = {}
    for folder in sorted(path for path in base.iterdir() if path.is_dir() and path.name[0].isdigit()):
        exercise = load_exercise(folder, root)
        found[exercise.id] = exercise
    return dict(sorted(found.items()))


def find(name: str, root: Path = ROOT) -> Exercise:
    """The exercise called ``192``, ``cache_req`` or ``192_cache_req``. Raises KeyError when there is none."""
    number, _, slug = name.partition("_")
    for folder in sorted((root / FOLDER).glob("[0-9]*_*")):
        own_number, _, own_slug = folder.name.partition("_")
        if name in (own_number, own_slug) or (number, slug) == (own_number, own_slug):
            return load_exercise(folder, root)
    raise KeyError(name)


def load_exercise(folder: Path, root: Path = ROOT) -> Exercise:
    """Read and check one exercise's public files. Raises ExerciseError."""
    path = folder / "exercise.toml"
    try:
        raw = tomllib.loads(_read(path, "Describe the exercise there"))
    except tomllib.TOMLDecodeError as error:
        raise ExerciseError(path, "", f"is not TOML: {error}", "Mend that line") from None
    table = Table(path, raw)
    exercise = Exercise(
        root=root,
        id=table.whole("id", 160, 247),
        slug=table.string("slug", r"[a-z][a-z0-9_]*"),
        chapter=table.string("chapter", r"\d\d_[a-z0-9_]+"),
        level=table.choice("level", "easy", "medium", "hard"),
        points=table.whole("points", 1, 100),
        form=table.choice("form", "write", "find_the_bug", "write_the_tests"),
        place=table.choice("place", "engine", "adapter", "none"),
        target=table.string("target", _TARGET.pattern),
        members=tuple(table.strings("members")),
        also_cut=tuple(table.strings("also_cut")),
        browser=table.choice("browser", "all", "unit", "server"),
        limits=_limits(table),
        rules=_rules(table),
        hints=tuple(entry.text() for entry in table.tables("hints")),
        title=table.table("title").text(),
        minutes=table.whole("minutes", 1, 240, default=25),
        engine_text=_engine_text(table),
    )
    table.done()
    _check_names(exercise, path)
    _check_files(exercise)
    return exercise


def _check_names(exercise: Exercise, path: Path) -> None:
    if exercise.folder != path.parent:
        remedy = f"Rename the folder to {exercise.key}, or mend `id` and `slug`"
        raise ExerciseError(path, "`slug`", f"does not fit the folder {path.parent.name}", remedy)
    chapter = (exercise.id - 160) // 4
    if int(exercise.chapter[:2]) != chapter:
        remedy = f"Exercise {exercise.id} belongs to chapter {chapter:02d}"
        raise ExerciseError(path, "`chapter`", f"{exercise.chapter!r} does not own this number", remedy)
    if (exercise.place == "engine") != (exercise.module is not None):
        remedy = 'An engine target reads "minisgl.module:Class.method"; every other one is a bare name'
        raise ExerciseError(path, "`target`", f"does not fit place = {exercise.place!r}", remedy)
    if exercise.module and exercise.module.partition(".")[0] != "minisgl":
        raise ExerciseError(path, "`target`", "is not in the engine", "Its module begins with minisgl")


def _check_files(exercise: Exercise) -> None:
    for lang in LANGS:
        _read(exercise.folder / f"{lang}.md", f"The statement in {lang} belongs there")
    if exercise.form == "find_the_bug":
        _read(exercise.starter_path, "A find-the-bug exercise starts from the wrong function there")
    samples = exercise.folder / "samples.py"
    try:
        tree = ast.parse(_read(samples, "Public samples belong there"))
    except SyntaxError as error:
        raise ExerciseError(samples, f"line {error.lineno}", "does not parse", "Mend it") from None
    tests = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
    if not tests:
        raise ExerciseError(samples, "", "has no sample", "Define functions test_*(target)")
    for test in tests:
        if len(test.args.args) != 1:
            raise ExerciseError(
                samples, f"`{test.name}`", "does not take one argument", "It takes the target"
            )
    _check_own_run(exercise)


def _check_own_run(exercise: Exercise) -> None:
    if exercise.own_run is None:
        return
    path = exercise.folder / own_run.FILE
    if exercise.place != "none":
        remedy = "Remove it: the engine itself calls this function, and that is what the animation plays"
        raise ExerciseError(path, "", f"does not fit place = {exercise.place!r}", remedy)
    try:
        own_run.takes_trace(exercise.own_run)
    except SyntaxError as error:
        raise ExerciseError(path, f"line {error.lineno}", "does not parse", "Mend it") from None
    except ValueError as error:
        raise ExerciseError(path, "", str(error), "docs/writing.md says what it yields") from None


def _read(path: Path, remedy: str) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ExerciseError(path, "", "is missing", remedy) from None
    except UnicodeDecodeError:
        raise ExerciseError(path, "", "is not UTF-8", "Save it as UTF-8") from None
    if not text.strip():
        raise ExerciseError(path, "", "is empty", remedy)
    return text


def _limits(table: Table) -> ExerciseLimits:
    part = table.table("limits", optional=True)
    default = ExerciseLimits()
    limits = ExerciseLimits(
        cpu_s=part.number("cpu_s", 0.1, 60.0, default=default.cpu_s),
        memory_mb=part.whole("memory_mb", 64, 4096, default=default.memory_mb),
        source_kb=part.whole("source_kb", 1, 1024, default=default.source_kb),
    )
    part.done()
    return limits


def _rules(table: Table) -> tuple[Rule, ...]:
    rules = []
    for number, entry in enumerate(table.tables("rules"), start=1):
        if entry.whole("number", 1, 99) != number:
            entry.fail("number", "breaks the count 1, 2, 3, ...", f"Number this rule {number}")
        rules.append(Rule(number, entry.text()))
    if not rules:
        table.fail(
            "rules", "is missing", "Add [[rules]] with number, zh and en: messages name the rule that broke"
        )
    return tuple(rules)


def _engine_text(table: Table) -> dict[str, tuple[str, ...]]:
    part = table.table("engine_text", optional=True)
    texts = {lang: tuple(part.strings(lang)) for lang in LANGS}
    part.done()
    return texts
