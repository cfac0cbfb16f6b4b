"""Study cards from the chapters' self-tests: the question, and the answer that is unfolded below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from judge.i18n import LANGS
from judge.service.markdown import render
from tools.book.source import Directive, expand, parse
from tools.site.parts import SiteError


def cards(root: Path) -> dict[str, list[dict[str, Any]]]:
    """The cards of all chapters by language, in the order of the chapters.

    A card's `key` is the chapter and its place among the chapter's questions: the same in both languages, so
    what is learnt in one counts in the other.

    Raises:
        SiteError: the self-tests of a chapter are not the same number in both languages.
    """
    found: dict[str, list[dict[str, Any]]] = {lang: [] for lang in LANGS}
    for source in sorted((root / "chapters" / "zh").glob("[0-9][0-9]_*.md")):
        counts = set()
        for lang in LANGS:
            path = root / "chapters" / lang / source.name
            if not path.is_file():
                continue
            own = questions(path)
            counts.add(len(own))
            found[lang] += own
        if len(counts) > 1:
            raise SiteError(f"cards: {source.name} has {counts} self-tests by language. Write each in both")
    return found


def questions(path: Path) -> list[dict[str, Any]]:
    """The self-tests of one chapter; questions and answers as HTML."""
    source = parse(path.read_text(encoding="utf-8"), path)
    own: list[dict[str, Any]] = []

    def take(directive: Directive) -> str:
        if directive.name == "selftest":
            own.append(
                {
                    "key": f"{path.stem}:{len(own) + 1}",
                    "chapter": path.stem,
                    "question": render(directive.argument).strip(),
                    "answer": render(directive.body).strip(),
                }
            )
        elif directive.name == "fold":
            expand(directive.body, directive.path, directive.body_line, take)
        return ""

    expand(source.text, path, source.first_line, take)
    return own
