"""What is around the text of every page: the theme's template, the map of the course, the languages."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from judge.exercise_toml import ExerciseError
from judge.exercises import Exercise, find
from judge.i18n import t
from tools.book.glossary import Term
from tools.book.parts import THEME, inline, part
from tools.book.site import ANIMATION, ICON, INLINE_EXERCISE, POLICY, SCRIPT, SHARED, UP
from tools.book.summary import Entry

NAMES = {"zh": ("zh-CN", "中文"), "en": ("en", "EN")}
SCRIPT_WORDS = (
    *("search_found", "search_none", "search_failed", "search_asking"),
    *("know_ask", "know_yes", "know_no", "know_said_yes", "know_said_no", "read_count", "read_left"),
    *("pips", "state_tried", "state_accepted"),
)


class Words:
    """[book] of the catalogue in one language, as the macros of parts.html ask for it."""

    def __init__(self, lang: str) -> None:
        self.lang = lang

    def word(self, key: str, **values: object) -> str:
        return t(f"book.{key}", self.lang, **values)


def template(lang: str, total: int) -> str:
    """mdBook's page template with the words of one language in it; what differs by page is a comment.

    `total` is how many exercises the course has.
    """
    text = (THEME / "index.hbs").read_text(encoding="utf-8")
    sheets = "\n".join(f'<link rel="stylesheet" href="{UP}assets/styles/{name}">' for name in SHARED)
    text = text.replace("[[sprite]]", (THEME / "sprite.svg").read_text(encoding="utf-8").strip())
    text = (
        text.replace("[[shared]]", sheets)
        .replace("[[script]]", f"{UP}assets/{SCRIPT}")
        .replace("[[icon]]", f"{UP}assets/{ICON}")
        .replace("[[policy]]", POLICY)
    )
    text = text.replace("[[places]]", part("places", Words(lang), f"{UP}{lang}/"))
    text = text.replace("[[site]]", f"{UP}{lang}/").replace("[[total]]", str(total))
    words = {key: t(f"book.{key}", lang, n="{n}", all="{all}") for key in SCRIPT_WORDS}
    text = text.replace("[[words]]", part("words", words))
    return re.sub(r"\[\[word (\w+)\]\]", lambda found: t(f"book.{found[1]}", lang), text)


def course_map(entries: list[Entry], here: str, lang: str, root: Path) -> str:
    """The list of chapters beside the text, with the exercises of the one that is open."""
    parts: list[tuple[str, list[Entry]]] = []
    for entry in entries:
        if not parts or parts[-1][0] != entry.part:
            parts.append((entry.part, []))
        parts[-1][1].append(entry)
    opened = next((entry for entry in entries if entry.page == here), None)
    exercises = [find_exercise(number, root) for number in opened.exercises] if opened else []
    return part("map", Words(lang), parts, here, [each for each in exercises if each], UP)


def find_exercise(number: int, root: Path) -> Exercise | None:
    """The exercise, None where there is none: its directive says so, with file and line."""
    try:
        return find(str(number), root)
    except (KeyError, ExerciseError):
        return None


def languages(here: str, lang: str, other_ids: dict[str, list[str]]) -> str:
    """The switch of language: the same page, and its section where the other language has it, too."""
    links = []
    for each, (code, name) in NAMES.items():
        current = ' aria-current="true"' if each == lang else ""
        ids = f' data-ids="{escape(" ".join(other_ids.get(each, ())))}"' if each != lang else ""
        links.append(f'<a href="../{each}/{here}" lang="{code}" hreflang="{code}"{current}{ids}>{name}</a>')
    return "".join(links)


def extras(html: str, katex: bool) -> str:
    """Style sheets and scripts that this page alone needs."""
    wanted: list[str] = ["assets/katex.css"] if katex else []
    if 'class="ex-inline"' in html:
        wanted += [UP + path for path in INLINE_EXERCISE]
    if "<minisgl-animation" in html:
        wanted += [UP + path for path in ANIMATION]
    return "\n".join(
        f'<link rel="stylesheet" href="{path}">'
        if path.endswith(".css")
        else f'<script type="module" src="{path}"></script>'
        for path in wanted
    )


def definitions(terms: list[Term], lang: str) -> str:
    """The definitions that the links of a page point at; shown beside the term by a script."""
    if not terms:
        return ""
    rows = [(term.key, term.name[lang], inline(term.text[lang])) for term in terms]
    return part("definitions", Words(lang), rows)
