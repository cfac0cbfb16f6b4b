"""What the pages tell of the course: stages, chapters, milestones, and the tree of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from judge.exercises import Exercise
from judge.i18n import t
from tools.book.source import parse

STAGES = {"start": range(0, 1), "right": range(1, 7), "scheduled": range(7, 12), "served": range(12, 16)} | {
    "faster": range(16, 22)
}
"""The chapters of each stage; a milestone closes it."""

SLUGS = (
    *("tiny_engine", "core", "layers", "models", "kvcache", "attention", "engine", "scheduler"),
    *("cache_manager", "radix_cache", "chunked_prefill", "overlap", "messages", "tokenizer"),
    *("scheduler_io", "api_server", "tensor_parallel", "gpu_attention", "cuda_graph", "kernels"),
    *("moe", "benchmark"),
)

HOMES = {
    "page_address": "minisgl/kvcache/mha_pool.py",
    "continuous_step": "minisgl/scheduler/scheduler.py",
    "radix_split": "minisgl/kvcache/radix_cache.py",
}
"""Where a function that drives the engine through an adapter belongs in its tree."""


@dataclass(frozen=True)
class Chapter:
    """A chapter in one language; `page` is its address in the site, None while it is not written."""

    number: int
    key: str
    title: str
    gist: str
    minutes: int | None
    page: str | None
    exercises: tuple[Exercise, ...]


@dataclass(frozen=True)
class Stage:
    """Some chapters and the milestone that closes them."""

    title: str
    chapters: tuple[Chapter, ...]
    milestone: str
    promise: str
    last: int
    page: str | None
    """Of the milestone, in the site; None while it is not written."""


@dataclass(frozen=True)
class Row:
    """A line of the engine's tree: a folder or file with the functions that exercises are about."""

    depth: int
    name: str
    is_folder: bool
    exercises: tuple[Exercise, ...] = ()


def stages(root: Path, exercises: Mapping[int, Exercise], lang: str) -> list[Stage]:
    """The whole course in `lang`, chapters that are not written yet included."""
    return [
        Stage(
            title=t(f"web.stage_{name}", lang),
            chapters=tuple(chapter(root, number, exercises, lang) for number in numbers),
            milestone=t(f"web.mile_{name}", lang),
            promise=t(f"web.mile_{name}_gist", lang),
            last=numbers[-1],
            page=milestone_page(root, numbers[-1], lang),
        )
        for name, numbers in STAGES.items()
    ]


def milestone_page(root: Path, last: int, lang: str) -> str | None:
    """The book's page on the milestone after chapter `last`."""
    for path in sorted((root / "chapters" / lang).glob("stage[0-9]_*.md")):
        if parse(path.read_text(encoding="utf-8"), path).head.get("after") == last:
            return f"book/{lang}/{path.stem}.html"
    return None


def chapter(root: Path, number: int, exercises: Mapping[int, Exercise], lang: str) -> Chapter:
    key = f"{number:02d}_{SLUGS[number]}"
    source = root / "chapters" / lang / f"{key}.md"
    written = source.is_file()
    minutes = parse(source.read_text(encoding="utf-8"), source).head.get("minutes") if written else None
    return Chapter(
        number=number,
        key=key,
        title=t(f"web.chapter_{number:02d}", lang),
        gist=t(f"web.gist_{number:02d}", lang),
        minutes=minutes if isinstance(minutes, int) else None,
        page=f"book/{lang}/{key}.html" if written else None,
        exercises=tuple(one for one in exercises.values() if one.chapter == key),
    )


def home(exercise: Exercise) -> str | None:
    """The file of the engine that a function takes its place in, None where it has none."""
    if exercise.module:
        return exercise.module.replace(".", "/") + ".py"
    return HOMES.get(exercise.slug)


def tree(root: Path, exercises: Mapping[int, Exercise]) -> tuple[list[Row], list[str]]:
    """The files of the engine that learners write in, and the folders that no exercise reaches yet."""
    files: dict[str, list[Exercise]] = {}
    for one in exercises.values():
        place = home(one)
        if place is not None:
            files.setdefault(place, []).append(one)
    rows: list[Row] = []
    drawn: set[str] = set()
    for file in sorted(files):
        folder, _, name = file.removeprefix("minisgl/").rpartition("/")
        if folder and folder not in drawn:
            drawn.add(folder)
            rows.append(Row(1, f"{folder}/", True))
        rows.append(Row(2 if folder else 1, name, False, tuple(files[file])))
    others = sorted(
        f"{path.name}/"
        for path in (root / "minisgl").glob("*/")
        if (path / "__init__.py").is_file() and path.name not in {one.partition("/")[0] for one in drawn}
    )
    return rows, others
