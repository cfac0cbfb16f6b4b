"""The pages as HTML: made from the exercises and the catalogue, readable before any script has run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from judge.exercises import Exercise
from judge.i18n import LANGS, t
from judge.service.catalog import statement_html
from judge.service.headers import page_policy
from tools.book.highlight import highlight
from tools.site import course
from tools.site.data import chapter_title, exercise_data, json_block, script_words

_env = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True)
class Assets:
    """What else the site has: style sheets by bundle, chunks of each entry, parts that were built."""

    styles: Mapping[str, str]
    preload: Mapping[str, list[str]] = field(default_factory=dict)
    runtime: bool = False
    animations: tuple[str, ...] = ()
    book: tuple[str, ...] = ()
    worker: bool = False
    judge: bool = True
    policy: str = page_policy()
    """Also in the page itself, for hosts that send no headers."""


@dataclass(frozen=True)
class Pages:
    """Writes every page of the site below `out`."""

    root: Path
    exercises: Mapping[int, Exercise]
    assets: Assets

    def write(self, out: Path) -> None:
        every = list(self.exercises.values())
        for lang in LANGS:
            self._page(out, lang, "", "map.html", kind="map", **self._map(lang))
            self._page(out, lang, "exercises/", "exercises.html", kind="exercises", **self._list(lang))
            for one in every:
                self._page(
                    out,
                    lang,
                    f"exercises/{one.id}/",
                    "exercise.html",
                    kind="exercise",
                    **self._exercise(one, lang),
                )
            for kind in ("playground", "cards", "progress"):
                self._page(out, lang, f"{kind}/", f"{kind}.html", kind=kind)
            for why in ("not_found", "fault", "no_book"):
                self._message(out / lang / f"{why}.html", lang, why)
        self._message(out / "404.html", "en", "not_found")
        (out / "index.html").write_text(self._render("front.html", "zh", "./", ""), encoding="utf-8")

    def _page(self, out: Path, lang: str, path: str, template: str, *, kind: str, **values: Any) -> None:
        folder = out / lang / path
        folder.mkdir(parents=True, exist_ok=True)
        up = "../" * (1 + path.count("/"))
        html = self._render(template, lang, up, path, kind=kind, **values)
        (folder / "index.html").write_text(html, encoding="utf-8")

    def _message(self, file: Path, lang: str, why: str) -> None:
        """A page that stands in for any address, so that its own addresses begin at the host's root."""
        file.write_text(
            self._render("message.html", lang, "/", "", kind="message", why=why), encoding="utf-8"
        )

    def _render(self, template: str, lang: str, up: str, path: str, **values: Any) -> str:
        def word(name: str, **fields: object) -> str:
            return t(f"web.{name}", lang, **fields)

        return _env.get_template(template).render(
            lang=lang,
            html_lang="zh-CN" if lang == "zh" else "en",
            t=word,
            rich=rich,
            up=up,
            path=path,
            json_block=json_block,
            words=script_words(lang),
            assets=self.assets,
            policy=self.assets.policy,
            total=len(self.exercises),
            site={
                "lang": lang,
                "exercises": [one.id for one in self.exercises.values()],
                "runtime": self.assets.runtime,
                "animations": list(self.assets.animations),
                "worker": self.assets.worker,
                "judge": self.assets.judge,
            },
            **values,
        )

    def _map(self, lang: str) -> dict[str, Any]:
        rows, others = course.tree(self.root, self.exercises)
        every = list(self.exercises.values())
        return {
            "stages": course.stages(self.root, self.exercises, lang),
            "rows": rows,
            "others": others,
            "first": every[0] if every else None,
            "data": [
                {
                    "id": one.id,
                    "title": one.title[lang],
                    "name": one.name,
                    "target": one.qualname,
                    "chapter": int(one.chapter[:2]),
                    "read": self._chapter(one, lang),
                    "points": one.points,
                    "minutes": one.minutes,
                    "say": say(one, lang),
                    "place": one.place,
                }
                for one in every
            ],
            "home": course.home,
        }

    def _list(self, lang: str) -> dict[str, Any]:
        chapters: dict[str, list[Exercise]] = {}
        for one in self.exercises.values():
            chapters.setdefault(one.chapter, []).append(one)
        return {
            "chapters": [
                (chapter_title(key, lang), self._chapter(members[0], lang), members)
                for key, members in chapters.items()
            ]
        }

    def _exercise(self, one: Exercise, lang: str) -> dict[str, Any]:
        every = list(self.exercises.values())
        data = exercise_data(one, every, lang)
        return {
            "exercise": one,
            "siblings": [each for each in every if each.chapter == one.chapter],
            "chapter": chapter_title(one.chapter, lang),
            "chapter_page": self._chapter(one, lang),
            "statement": Markup(statement_html(one, lang)),
            "starter": Markup(highlight(data["starter"])),
            "samples": Markup(highlight(one.samples)),
            "say": say(one, lang),
            "in_tab": self.assets.runtime and one.browser != "server",
            "data": data,
        }

    def _chapter(self, one: Exercise, lang: str) -> str | None:
        """The chapter's page, where the book has it."""
        page = f"book/{lang}/{one.chapter}.html"
        return page if page in self.assets.book else None


def say(one: Exercise, lang: str) -> str:
    """The first sentences of the statement, with its backticks, without its bold face."""
    blocks = one.statement(lang).strip().split("\n\n")
    found = next((block for block in blocks if block and block[0] not in "#|<-*0123456789"), one.title[lang])
    text = ""
    for sentence in re.findall(r".+?(?:[。？！]|[.?!](?= |$)|$)", " ".join(found.replace("**", "").split())):
        if text and len(text) + len(sentence) > (_MOST_SAY if lang == "en" else _MOST_SAY // 2):
            break
        text += sentence
    return text.strip()


_MOST_SAY = 240


def rich(text: str) -> Markup:
    """Text in which backticks mark code."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if at % 2 else part for at, part in enumerate(parts)
    )
