"""The learner's files: where they are, how one is started, and which exercises have been accepted."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from pathlib import Path

from judge.exercises import Exercise
from judge.starter import starter

ROOT = Path(__file__).resolve().parent.parent.parent


def folder() -> Path:
    """`practice/workspace`, or the folder that MINISGL_WORKSPACE names."""
    return Path(os.environ.get("MINISGL_WORKSPACE") or ROOT / "practice" / "workspace")


def file_of(exercise: Exercise) -> Path:
    """The file that is judged when none is named."""
    return folder() / f"{exercise.id}_{exercise.slug}.py"


def log_file() -> Path:
    """Where a fault of the judge is written down in full."""
    return folder() / ".judge.log"


def shown(path: Path) -> str:
    """The path as a person would type it from where they stand."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def write_atomically(path: Path, text: str) -> None:
    """Write all of `text` or nothing, so that a full disk or Ctrl-C leaves the old file whole.

    Raises:
        OSError: the folder cannot be made or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def start(exercise: Exercise, lang: str) -> Path:
    """Write the exercise's skeleton to its file and return the path."""
    path = file_of(exercise)
    write_atomically(path, starter(exercise, lang))
    return path


def _record() -> Path:
    return folder() / ".accepted.json"


def accepted() -> set[int]:
    """Numbers of the exercises that were accepted in this workspace; an unreadable record counts as empty."""
    try:
        numbers = json.loads(_record().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return set()
    return {number for number in numbers if isinstance(number, int)} if isinstance(numbers, list) else set()


def remember(exercise: Exercise) -> None:
    """Note that the exercise was accepted: its solution may be shown from now on."""
    numbers = accepted()
    if exercise.id not in numbers:
        write_atomically(_record(), json.dumps(sorted(numbers | {exercise.id})) + "\n")
