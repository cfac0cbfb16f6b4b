"""`SUMMARY.md`: which pages the book has, in which order and under which title."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.book.source import SourceError, parse

_ENTRY = re.compile(r"^(?P<listed>- )?\[(?P<title>[^\]]+)\]\((?P<file>[\w./-]+\.md)\)$")
_PART = re.compile(r"^# (?P<title>.+)$")


@dataclass(frozen=True)
class Entry:
    """One page. `head` is its front matter, `part` the title that it stands under."""

    title: str
    file: str
    part: str
    head: dict[str, Any] = field(default_factory=dict)

    @property
    def page(self) -> str:
        """The file in the built book."""
        return self.file.removesuffix(".md") + ".html"

    @property
    def chapter(self) -> int:
        """The chapter's number; -1 for a page that is no chapter."""
        return int(self.head.get("chapter", -1))

    @property
    def after(self) -> int:
        """The chapter that a stage's milestone follows; -1 for every other page."""
        return int(self.head.get("after", -1))

    @property
    def exercises(self) -> list[int]:
        return [int(number) for number in self.head.get("exercises", ())]


def read_summary(root: Path, lang: str) -> list[Entry]:
    """The pages of one language; the first heading, which mdBook takes for a title, is no part.

    Raises:
        SourceError: a line is no entry, or a file is missing, listed twice, or not listed.
    """
    relative = Path("chapters") / lang / "SUMMARY.md"
    folder = root / "chapters" / lang
    entries: list[Entry] = []
    part = ""
    lines = (root / relative).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        if heading := _PART.match(line):
            part = heading["title"] if number > 1 else ""
        elif found := _ENTRY.match(line):
            file = found["file"]
            if not (folder / file).is_file():
                raise SourceError(relative, number, f"no file {file}")
            if file in [entry.file for entry in entries]:
                raise SourceError(relative, number, f"{file} stands here a second time")
            path = Path("chapters") / lang / file
            head = parse((folder / file).read_text(encoding="utf-8"), path).head
            entries.append(Entry(found["title"], file, part if found["listed"] else "", head))
        elif line.strip():
            raise SourceError(relative, number, "an entry reads: - [title](file.md)")
    listed = {entry.file for entry in entries} | {"SUMMARY.md"}
    if left_out := sorted(path.name for path in folder.glob("*.md") if path.name not in listed):
        raise SourceError(relative, len(lines), f"not listed: {', '.join(left_out)}")
    return entries


def same_pages(summaries: dict[str, list[Entry]]) -> None:
    """Raises SourceError when a language lacks a page that another has, or has it elsewhere."""
    (first, wanted), *others = summaries.items()
    for lang, entries in others:
        files, asked = [entry.file for entry in entries], [entry.file for entry in wanted]
        if files != asked:
            differ = sorted(set(files) ^ set(asked)) or ["their order"]
            path = Path("chapters") / lang / "SUMMARY.md"
            raise SourceError(path, 1, f"not the same pages as in {first}: {', '.join(differ)}")
