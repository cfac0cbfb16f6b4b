"""`chapters/steps.toml`: which chapter brings, and which changes, a file."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """One chapter's files, as paths from the root; `main` is the example that one runs, `milestone` the
    program with which a stage ends.
    """

    chapter: int
    new: tuple[str, ...]
    modified: tuple[str, ...]
    main: str
    milestone: str = ""


def load_steps(root: Path) -> dict[int, Step]:
    """The manifest by chapter.

    Raises:
        LookupError: a file is brought twice, changed before it is there, or does not exist.
    """
    raw = tomllib.loads((root / "chapters" / "steps.toml").read_text(encoding="utf-8"))
    steps: dict[int, Step] = {}
    known: set[str] = set()
    for key, entry in sorted(raw["chapter"].items(), key=lambda pair: int(pair[0])):
        step = Step(
            int(key),
            tuple(entry["new"]),
            tuple(entry.get("modified", ())),
            entry.get("main", ""),
            entry.get("milestone", ""),
        )
        for path in step.new:
            if path in known:
                raise LookupError(f"steps.toml, chapter {step.chapter}: {path} is new a second time")
        known.update(step.new)
        for path in filter(None, (*step.modified, step.main, step.milestone)):
            if path not in known:
                raise LookupError(f"steps.toml, chapter {step.chapter}: {path} is not there yet")
        for path in step.new:
            if not (root / path).is_file():
                raise LookupError(f"steps.toml, chapter {step.chapter}: {path} does not exist")
        steps[step.chapter] = step
    return steps


def status(steps: dict[int, Step], chapter: int, path: str) -> tuple[str, int]:
    """("new" | "changed" | "from", chapter it came with) of a file, seen from `chapter`; ("", 0) of one that
    is not there yet, or that no chapter brings.
    """
    came = next((number for number, each in steps.items() if number <= chapter and path in each.new), None)
    if came is None:
        return "", 0
    if came == chapter:
        return "new", came
    return ("changed" if path in steps[chapter].modified else "from"), came
