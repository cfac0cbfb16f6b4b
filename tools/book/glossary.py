"""The terms of the course, from `chapters/glossary.toml`: found in the pages, explained where they stand.

The first use of a term in a section becomes a link to the glossary that carries its definition; a script
shows it on hover, focus and touch. Code, headings, links, controls and drawings are left alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

FILE = Path("chapters") / "glossary.toml"
_PIECE = re.compile(r"(<!--.*?-->|<[^>]*>)", re.S)
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z][\w-]*)(?P<rest>[^>]*)>")
_VOID = frozenset(("area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "use", "wbr"))
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "th", "title")
_CONTROLS = ("a", "button", "dl", "footer", "form", "header", "label", "nav", "summary")
_DRAWN = ("code", "math", "minisgl-animation", "pre", "script", "style", "svg")
_QUIET = frozenset((*_HEADINGS, *_CONTROLS, *_DRAWN))
_QUIET_CLASSES = frozenset(("ex-inline", "tree", "tex", "katex", "b-head", "o-head", "mend", "entry"))
_LATIN = re.compile(r"[A-Za-z]")


class GlossaryError(Exception):
    """`chapters/glossary.toml` has to be mended; the text names the file and the entry."""


@dataclass(frozen=True)
class Term:
    """`names` are the forms by language that are looked for, `apart` the words in which one is not meant."""

    key: str
    chapter: int
    name: dict[str, str]
    names: dict[str, tuple[str, ...]]
    text: dict[str, str]
    apart: tuple[str, ...] = ()


def load_terms(root: Path) -> list[Term]:
    """All entries, in the order of the file; none where there is no such file.

    Raises:
        GlossaryError: an entry lacks something, or two share a key or a name.
    """
    path = root / FILE
    if not path.is_file():
        return []
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise GlossaryError(f"{FILE}: {error}") from error
    terms = [_term(entry, number) for number, entry in enumerate(raw.get("term", ()), start=1)]
    seen: dict[str, str] = {}
    for term in terms:
        for name in {term.key, *term.names["zh"], *(each.lower() for each in term.names["en"])}:
            if seen.setdefault(name, term.key) != term.key:
                raise GlossaryError(f"{FILE}: {name!r} belongs to {seen[name]} and to {term.key}")
    return terms


def _term(entry: dict[str, Any], number: int) -> Term:
    where = f"{FILE}: entry {number} ({entry.get('id', 'without id')})"
    wanted = {"id": str, "chapter": int, "zh": str, "en": str, "text_zh": str, "text_en": str}
    for key, kind in wanted.items():
        if not isinstance(entry.get(key), kind) or entry[key] == "":
            raise GlossaryError(f"{where} lacks {key}")
    if unknown := set(entry) - set(wanted) - {"also_zh", "also_en", "apart"}:
        raise GlossaryError(f"{where} has unknown keys: {', '.join(sorted(unknown))}")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", entry["id"]):
        raise GlossaryError(f"{where}: an id has lower-case letters, digits and hyphens")
    names = {lang: (entry[lang], *entry.get(f"also_{lang}", ())) for lang in ("zh", "en")}
    text = {lang: " ".join(entry[f"text_{lang}"].split()) for lang in ("zh", "en")}
    title = {lang: entry[lang] for lang in ("zh", "en")}
    return Term(entry["id"], entry["chapter"], title, names, text, tuple(entry.get("apart", ())))


class Marker:
    """Marks the terms of one language in pages."""

    def __init__(self, terms: Sequence[Term], lang: str) -> None:
        self._terms = {term.key: term for term in terms}
        forms: dict[str, str] = {}
        for term in terms:
            for name in term.apart:
                forms[name.lower()] = ""
            for name in term.names[lang]:
                forms[name.lower()] = term.key
                if lang == "en" and not name.endswith("s"):
                    forms[f"{name.lower()}s"] = term.key
        self._forms = forms
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_bounded, longest_first)) or r"(?!)", re.I)

    def mark(self, html: str, here: frozenset[str] = frozenset()) -> tuple[str, list[Term]]:
        """The HTML of an article with its terms as links, and those terms; `here` are left out."""
        out: list[str] = []
        quiet: list[str] = []
        section: set[str] = set(here)
        used: dict[str, Term] = {}

        def link(found: re.Match[str]) -> str:
            key = self._forms[found[0].lower()]
            if not key or key in section:
                return found[0]
            section.add(key)
            used[key] = self._terms[key]
            return (
                f'<a class="term" href="glossary.html#{key}" data-term="{key}"'
                f' aria-describedby="term-{key}">{found[0]}</a>'
            )

        for piece in _PIECE.split(html):
            if tag := _TAG.fullmatch(piece):
                if tag["name"] == "h2":
                    section = set(here)
                _follow(quiet, tag)
            elif piece and not quiet:
                piece = self._pattern.sub(link, piece)
            out.append(piece)
        return "".join(out), list(used.values())


def _bounded(form: str) -> str:
    """A form as a pattern: one that begins or ends in a Latin letter stands for a whole word."""
    start = r"(?<![A-Za-z0-9_.-])" if _LATIN.match(form) else ""
    end = r"(?![A-Za-z0-9_-])" if _LATIN.match(form[-1]) else ""
    return start + re.escape(escape(form, quote=False)) + end


def _follow(quiet: list[str], tag: re.Match[str]) -> None:
    """Keep the stack of open elements from the first one whose text is left alone."""
    name = tag["name"].lower()
    if name in _VOID or tag["rest"].endswith("/"):
        return
    if tag["end"]:
        if quiet and quiet[-1] == name:
            quiet.pop()
        return
    classes = re.search(r'class="([^"]*)"', tag["rest"])
    if quiet or name in _QUIET or (classes and _QUIET_CLASSES & set(classes[1].split())):
        quiet.append(name)
