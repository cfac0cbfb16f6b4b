"""The chapter source: its head, its directives and where each of them stands.

Two kinds of fences, as in MyST. Backticks hold something that is not prose (`{include}`, `{code-cell}`);
colons hold prose, in which more directives may stand (`{selftest}`, `{fold}`). Ordinary fenced code is left
alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

_OPEN = re.compile(r"^(?P<fence>`{3,}|:{3,})\{(?P<name>[a-z][a-z-]*)\}[ \t]*(?P<argument>.*?)[ \t]*$")
_PLAIN = re.compile(r"^(?P<fence>`{3,}|~{3,})")
_OPTION = re.compile(r"^:(?P<key>[a-z][a-z-]*):[ \t]*(?P<value>.*?)[ \t]*$")


class SourceError(Exception):
    """Something in a source that its author has to mend; the text begins with `file:line`."""

    def __init__(self, path: Path, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")


@dataclass(frozen=True)
class Directive:
    """One fenced directive. `line` is its opening fence's, `body_line` that of the body's first line."""

    name: str
    argument: str
    options: dict[str, str]
    body: str
    path: Path
    line: int
    body_line: int

    def error(self, message: str, offset: int = 0) -> SourceError:
        """An error that points at this directive, or at a line of its body counted from 1."""
        line = self.body_line + offset - 1 if offset else self.line
        return SourceError(self.path, line, f"{{{self.name}}}: {message}")


@dataclass(frozen=True)
class Source:
    """A chapter source: `head` from its YAML front matter, `text` after it, which starts at `first_line`."""

    path: Path
    head: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    first_line: int = 1


def parse(text: str, path: Path) -> Source:
    """Split the front matter off.

    Raises:
        SourceError: the front matter is not closed, or is no YAML mapping.
    """
    if not text.startswith("---\n"):
        return Source(path, {}, text, 1)
    end = text.find("\n---\n", 3)
    if end < 0:
        raise SourceError(path, 1, "the front matter is not closed by ---")
    try:
        head = yaml.safe_load(text[4 : end + 1])
    except yaml.YAMLError as error:
        raise SourceError(path, 1, f"the front matter is not YAML: {error}") from error
    if not isinstance(head, dict):
        raise SourceError(path, 1, "the front matter is not a mapping")
    return Source(path, head, text[end + 5 :], text.count("\n", 0, end + 5) + 1)


def expand(text: str, path: Path, first_line: int, render: Callable[[Directive], str]) -> str:
    """`text` with every directive on its top level replaced by what `render` makes of it.

    Raises:
        SourceError: a fence is not closed.
    """
    lines = text.split("\n")
    out: list[str] = []
    done = 0
    for start, end, opened in _fences(lines, path, first_line):
        out.extend(lines[done:start])
        if opened is None:
            out.extend(lines[start : end + 1])
        else:
            out.append(render(_directive(opened, lines, start, end, path, first_line)))
        done = end + 1
    return "\n".join([*out, *lines[done:]])


def prose_lines(source: Source) -> list[int]:
    """The indices of the lines of `source.text` that stand in no fence."""
    lines = source.text.split("\n")
    fenced: set[int] = set()
    for start, end, _ in _fences(lines, source.path, source.first_line):
        fenced.update(range(start, end + 1))
    return [number for number in range(len(lines)) if number not in fenced]


def code_lines(source: Source) -> set[int]:
    """The indices of the lines of `source.text` that are no prose: fenced code at any depth, directives that
    hold no prose, the opening line and the options of those that do.
    """
    lines = source.text.split("\n")
    inside: set[int] = set()
    closing = ""
    options = False
    for at, line in enumerate(lines):
        bare = line.strip()
        if closing:
            inside.add(at)
            if len(bare) >= len(closing) and bare == closing[0] * len(bare):
                closing = ""
        elif fence := _PLAIN.match(bare):
            inside.add(at)
            closing = fence["fence"]
        elif bare.startswith(":::"):
            inside.add(at)
            options = True
            continue
        elif options and _OPTION.match(line):
            inside.add(at)
            continue
        options = False
    return inside


def _fences(lines: list[str], path: Path, first_line: int) -> Iterator[tuple[int, int, re.Match[str] | None]]:
    """First and last line of each fence on the top level; the match is None for ordinary fenced code."""
    at = 0
    while at < len(lines):
        opened = _OPEN.match(lines[at])
        fence = opened or _PLAIN.match(lines[at])
        if fence is None:
            at += 1
            continue
        end = _closing(lines, at + 1, fence["fence"])
        if end is None:
            raise SourceError(
                path, first_line + at, f"the fence {fence['fence']} opened here is never closed"
            )
        yield at, end, opened
        at = end + 1


def _closing(lines: list[str], start: int, fence: str) -> int | None:
    """The index of the line that closes `fence`: the same character, at least as often, nothing else."""
    for index in range(start, len(lines)):
        bare = lines[index].rstrip()
        if len(bare) >= len(fence) and bare == fence[0] * len(bare):
            return index
    return None


def _directive(
    opened: re.Match[str], lines: list[str], start: int, end: int, path: Path, first_line: int
) -> Directive:
    options: dict[str, str] = {}
    at = start + 1
    while at < end and (option := _OPTION.match(lines[at])):
        options[option["key"]] = option["value"]
        at += 1
    return Directive(
        opened["name"],
        opened["argument"],
        options,
        "\n".join(lines[at:end]),
        path,
        first_line + start,
        first_line + at,
    )
