"""mdBook's preprocessor: reads the book from standard input, writes it with every directive expanded.

mdBook calls it once with `supports html`, then with the book. What the author has to mend goes to standard
error as `file:line: what`, and the exit status is 1.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from judge.exercise_toml import ExerciseError
from judge.exercises import find
from tools.book.directives import render
from tools.book.maths import mark_formulas
from tools.book.page import Page
from tools.book.parts import part
from tools.book.site import ROOT, UP, Site
from tools.book.source import Source, SourceError, code_lines, parse, prose_lines
from tools.book.translations import is_stale

PAGE_HEAD = ("title", "lead")
CHAPTER_HEAD = ("chapter", *PAGE_HEAD, "minutes", "needs", "writes", "exercises")
_LABEL = re.compile(r"^\((?P<id>[a-z][a-z0-9-]*)\)=$")
_TO_SITE = re.compile(r"\]\((?:exercise:(?P<id>[^)\s]*)|site:(?P<rest>[^)\s]*)|repo:(?P<file>[^)\s]*))\)")
_H2 = re.compile(r"^## (?P<text>.+) \{#(?P<id>[\w-]+)\}$", re.M)


def main() -> int:
    """The process that mdBook starts."""
    if len(sys.argv) > 2 and sys.argv[1] == "supports":
        return 0 if sys.argv[2] == "html" else 1
    context, book = json.load(sys.stdin)
    config = context["config"]
    site = Site(config["output"]["html"]["git-repository-url"], config["preprocessor"]["course"]["runner"])
    folder = Path(config["book"]["src"])
    try:
        for chapter in _chapters(book["items"]):
            path = folder / chapter["source_path"]
            chapter["content"] = page_html(path, config["book"]["language"], site, Path(context["root"]))
    except SourceError as error:
        print(error, file=sys.stderr)
        return 1
    json.dump(book, sys.stdout)
    return 0


def _chapters(items: list[Any]) -> Iterator[dict[str, Any]]:
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter is not None:
            if chapter["source_path"]:
                yield chapter
            yield from _chapters(chapter["sub_items"])


def page_html(relative: Path, lang: str, site: Site, root: Path = ROOT) -> str:
    """One source as what mdBook renders: head, text, links to mend it, list of sections.

    Raises:
        SourceError: a directive, or the front matter, has to be mended.
    """
    source = parse((root / relative).read_text(encoding="utf-8"), relative)
    needed = CHAPTER_HEAD if "chapter" in source.head else PAGE_HEAD
    if missing := [key for key in needed if key not in source.head]:
        raise SourceError(relative, 1, f"the front matter lacks: {', '.join(missing)}")
    page = Page(source, lang, site, root)
    source = replace(source, text=label_headings(source))
    source = replace(source, text=mark_formulas(source))
    body = render(page, link_to_site(page, source), source.first_line)
    sections = [found.groupdict() for found in _H2.finditer(body)]
    head = part("head", page, source.head, sections)
    rail = part("rail", page, sections)
    article = '<article class="page" data-pagefind-body>'
    if lang != "zh" and is_stale(root, relative.stem):
        original = f"../zh/{relative.with_suffix('.html').name}"
        article += "\n\n" + part("stale", page, original)
    return "\n\n".join([article, head, body, _mend(page, relative), "</article>", rail])


def label_headings(source: Source) -> str:
    """MyST's `(name)=` before a heading as mdBook's `{#name}` behind it, outside of fences.

    Raises:
        SourceError: a label without a heading, or a section of a chapter without a label.
    """
    lines = source.text.split("\n")
    label = ""
    for number in prose_lines(source):
        line, where = lines[number], source.first_line + number
        if found := _LABEL.match(line):
            label = found["id"]
            lines[number] = ""
        elif line.startswith("#") and label:
            lines[number] = f"{line} {{#{label}}}"
            label = ""
        elif label and line.strip():
            raise SourceError(source.path, where, f"no heading after the label ({label})=")
        elif line.startswith("## ") and "chapter" in source.head:
            raise SourceError(source.path, where, "a section needs a label: (name)=")
    return "\n".join(lines)


def link_to_site(page: Page, source: Source) -> str:
    """`[text](exercise:192)` and `[text](site:playground/)` as links out of the book into the site around it,
    `[text](repo:docs/gpu.md)` as one to the repository.

    Raises:
        SourceError: there is no such exercise, or no such file.
    """
    lines = source.text.split("\n")
    code = code_lines(source)
    for number, line in enumerate(lines):
        if number in code or "](" not in line:
            continue
        for found in _TO_SITE.finditer(line):
            if found["id"] is not None:
                _known(found["id"], page, source.first_line + number)
            elif found["file"] is not None and not (page.root / found["file"]).is_file():
                raise SourceError(source.path, source.first_line + number, f"no file {found['file']}")

        def address(found: re.Match[str]) -> str:
            if found["id"] is not None:
                return f"]({page.runner(int(found['id']))})"
            if found["file"] is not None:
                return f"]({page.link(found['file'])})"
            return f"]({UP}{page.lang}/{found['rest']})"

        lines[number] = _TO_SITE.sub(address, line)
    return "\n".join(lines)


def _known(number: str, page: Page, line: int) -> None:
    try:
        if not number.isdigit():
            raise KeyError(number)
        find(number, page.root)
    except (KeyError, ExerciseError) as error:
        raise SourceError(page.source.path, line, f"no exercise {number}") from error


def _mend(page: Page, relative: Path) -> str:
    title = quote(page.word("report_title", page=relative.name))
    links = [
        (f"{page.site.repository}/edit/main/{relative.as_posix()}", "edit"),
        (f"{page.site.repository}/issues/new?title={title}", "report"),
    ]
    notebook = relative.with_suffix(".ipynb")
    if (page.root / notebook).is_file():
        links.append((notebook.name, "notebook"))
    return part("mend", page, links)


if __name__ == "__main__":
    sys.exit(main())
