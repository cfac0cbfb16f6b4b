"""mdBook's preprocessor: reads the book from standard input, writes it with every directive expanded.

mdBook calls it once with `supports html`, then with the book. What the author has to mend goes to standard error
as `file:line: what`, and the exit status is 1.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tools.book.directives import render
from tools.book.page import ROOT, Page, Site, attribute, inline
from tools.book.source import Source, SourceError, expand, parse

_LABEL = re.compile(r"^\((?P<id>[a-z][a-z0-9-]*)\)=$")
_H2 = re.compile(r"^##\s+(?P<text>.+?)(?:\s*\{#(?P<id>[\w-]+)\})?$", re.M)


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
            chapter["content"] = page_html(path, config["book"]["language"], site)
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
    """One source as the Markdown with HTML that mdBook renders: head, text, links to mend it, list of sections.

    Raises:
        SourceError: a directive, or the front matter, has to be mended.
    """
    source = parse((root / relative).read_text(encoding="utf-8"), relative)
    page = Page(source, lang, site, root)
    body = render(page, label_headings(source), source.first_line)
    sections = [(match["id"], match["text"]) for match in _H2.finditer(body) if match["id"]]
    return "\n\n".join(
        [
            '<article class="page">',
            _head(page, sections),
            body,
            _mend(page, relative),
            "</article>",
            _rail(page, sections),
        ]
    )


def label_headings(source: Source) -> str:
    """MyST's `(name)=` before a heading as mdBook's `{#name}` behind it, outside of fences.

    Raises:
        SourceError: a label without a heading, or a section of a chapter without a label.
    """
    fenced = _fenced_lines(source)
    lines = source.text.split("\n")
    label = ""
    for number, line in enumerate(lines):
        if number in fenced:
            continue
        if found := _LABEL.match(line):
            label = found["id"]
            lines[number] = ""
        elif line.startswith("#") and label:
            lines[number] = f"{line} {{#{label}}}"
            label = ""
        elif label and line.strip():
            raise SourceError(source.path, source.first_line + number, f"no heading after the label ({label})=")
        elif line.startswith("## ") and "chapter" in source.head:
            raise SourceError(source.path, source.first_line + number, "a section needs a label: (name)=")
    return "\n".join(lines)


def _fenced_lines(source: Source) -> set[int]:
    """The indices of lines that stand inside a directive of backticks or in fenced code."""
    inside: set[int] = set()

    def note(directive: Any) -> str:
        start = directive.line - source.first_line
        inside.update(range(start, directive.body_line - source.first_line + directive.body.count("\n") + 1))
        return ""

    expand(source.text, source.path, source.first_line, note)
    return inside


def _head(page: Page, sections: list[tuple[str, str]]) -> str:
    head = page.source.head
    if page.chapter < 0:
        return f'<header class="ch-head">\n<h1>{inline(head["title"])}</h1>\n<p class="lead">{inline(head["lead"])}</p>\n</header>'
    slots = "".join(
        f'<a class="slot" href="#ex-{number}"><span class="num">{number}</span></a>' for number in head["exercises"]
    )
    facts = [
        (page.word("fact_time"), page.word("minutes", n=head["minutes"])),
        (page.word("fact_needs"), inline(head["needs"])),
        (page.word("fact_writes"), inline(head["writes"])),
        (page.word("fact_exercises"), f'<span class="four n{len(head["exercises"])}">{slots}</span>'),
    ]
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)
    listed = "".join(f'<li><a href="#{name}">{inline(text)}</a></li>' for name, text in _plain(sections))
    return (
        f'<header class="ch-head">\n<p class="ch-no num">{page.word("chapter", n=page.chapter)}</p>\n'
        f"<h1>{inline(head['title'])}</h1>\n<p class=\"lead\">{inline(head['lead'])}</p>\n"
        f'<dl class="facts">{rows}</dl>\n'
        f'<details class="toc-m"><summary>{page.word("on_this_page")}</summary><ol>{listed}</ol></details>\n</header>'
    )


def _plain(sections: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, re.sub(r"\s*\{#.*$", "", text)) for name, text in sections]


def _mend(page: Page, relative: Path) -> str:
    edit = f"{page.site.repository}/edit/main/{relative.as_posix()}"
    title = quote(page.word("report_title", page=relative.name))
    report = f"{page.site.repository}/issues/new?title={title}"
    notebook = relative.with_suffix(".ipynb")
    links = [(edit, "edit"), (report, "report")]
    if (page.root / notebook).is_file():
        links.append((notebook.name, "notebook"))
    items = "".join(f'<li><a href="{attribute(href)}">{page.word(key)}</a></li>' for href, key in links)
    return f'<ul class="mend">{items}</ul>'


def _rail(page: Page, sections: list[tuple[str, str]]) -> str:
    if not sections:
        return ""
    listed = "".join(f'<li><a href="#{name}">{inline(text)}</a></li>' for name, text in _plain(sections))
    return (
        f'<aside class="rail" aria-label="{page.word("on_this_page")}"><p class="rail-h">{page.word("on_this_page")}</p>'
        f"<ol>{listed}</ol></aside>"
    )


if __name__ == "__main__":
    sys.exit(main())
