"""Read ``exercise.toml`` field by field, with errors that say which field, what is wrong and what to do."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from judge.i18n import LANGS

if TYPE_CHECKING:
    from judge.types import Text


class ExerciseError(Exception):
    """A file of an exercise is missing or wrong. ``str()`` says where, what, and what to do."""

    def __init__(self, file: Path, field: str, problem: str, remedy: str) -> None:
        self.file, self.field = file, field
        where = f"{file}: {field}" if field else str(file)
        super().__init__(f"{where} {problem}. {remedy}.")


class Table:
    """A TOML table that takes each field once, checks it, and knows which fields nobody asked for."""

    def __init__(self, path: Path, raw: dict[str, Any], prefix: str = "") -> None:
        self.path, self.raw, self.prefix = path, dict(raw), prefix

    def fail(self, name: str, problem: str, remedy: str) -> NoReturn:
        raise ExerciseError(self.path, f"`{self.prefix}{name}`", problem, remedy)

    def done(self) -> None:
        for name in self.raw:
            self.fail(name, "is unknown", "Remove it, or mend its spelling")

    def _take(self, name: str, expected: str, default: Any = None) -> Any:
        if name in self.raw:
            return self.raw.pop(name)
        if default is None:
            self.fail(name, "is missing", f"Add it: {expected}")
        return default

    def whole(self, name: str, low: int, high: int, default: int | None = None) -> int:
        expected = f"a whole number from {low} to {high}"
        value = self._take(name, expected, default)
        if type(value) is not int or not low <= value <= high:
            self.fail(name, f"is {value!r}", f"It must be {expected}")
        return int(value)

    def number(self, name: str, low: float, high: float, default: float) -> float:
        expected = f"a number from {low} to {high}"
        value = self._take(name, expected, default)
        if type(value) not in (int, float) or not low <= value <= high:
            self.fail(name, f"is {value!r}", f"It must be {expected}")
        return float(value)

    def string(self, name: str, pattern: str) -> str:
        value = self._take(name, f"text of the form {pattern}")
        if not isinstance(value, str) or not re.fullmatch(pattern, value):
            self.fail(name, f"is {value!r}", f"It must be text of the form {pattern}")
        return str(value)

    def choice(self, name: str, *options: str) -> Any:
        expected = "one of " + ", ".join(options)
        value = self._take(name, expected)
        if value not in options:
            self.fail(name, f"is {value!r}", f"It must be {expected}")
        return value

    def strings(self, name: str) -> list[str]:
        value = self._take(name, "a list of texts", default=[])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self.fail(name, f"is {value!r}", "It must be a list of texts")
        return list(value)

    def table(self, name: str, optional: bool = False) -> Table:
        value = self._take(name, "a table", default={} if optional else None)
        if not isinstance(value, dict):
            self.fail(name, f"is {value!r}", "It must be a table")
        return Table(self.path, value, f"{self.prefix}{name}.")

    def tables(self, name: str) -> list[Table]:
        value = self._take(name, "a list of tables", default=[])
        if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
            self.fail(name, f"is {value!r}", f"Write [[{name}]] once for each")
        return [Table(self.path, item, f"{name}[{i}].") for i, item in enumerate(value, start=1)]

    def text(self) -> Text:
        """The rest of this table: the same words in both languages."""
        words = {lang: self._take(lang, "the words in this language") for lang in LANGS}
        for lang, value in words.items():
            if not isinstance(value, str) or not value.strip():
                self.fail(lang, "is empty or no text", "Write the words in this language")
        self.done()
        return words
