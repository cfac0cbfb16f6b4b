"""The pages: first page, exercise, and the built book."""

from __future__ import annotations

import json
import os
import platform
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from judge.exercises import ROOT, Exercise
from judge.i18n import LANGS, t
from judge.service.api import Service, current_user, service_of
from judge.service.catalog import statement_html
from judge.service.language import preferred
from judge.starter import starter

_env = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=select_autoescape(["html"]),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

Page = Literal["zh", "en"]
Here = Annotated[Service, Depends(service_of)]
User = Annotated[int, Depends(current_user)]
router = APIRouter(include_in_schema=False)


@lru_cache(maxsize=len(LANGS))
def script_words(lang: str) -> dict[str, str]:
    """The words that the page's scripts use, placeholders left in; keys without their `ui_`."""
    catalogue = tomllib.loads((ROOT / "i18n" / f"{lang}.toml").read_text(encoding="utf-8"))
    return {key[3:]: text for key, text in catalogue["web"].items() if key.startswith("ui_")}


def json_block(value: Any) -> Markup:
    """`value` as JSON that can stand inside a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False)
    for character, escape in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(character, escape)
    return Markup(text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


def render(template: str, lang: str, service: Service, standing: dict[int, str], **values: Any) -> str:
    """A page in `lang` with what every page shows: bar, languages, count, banner."""
    isolation = service.store.isolation(service.settings.worker_fresh_s)
    return fill(template, lang, service, standing, isolation, **values)


def fill(
    template: str,
    lang: str,
    service: Service,
    standing: dict[int, str],
    isolation: str | None,
    **values: Any,
) -> str:
    """`render` with all that the database would tell: nothing is read here."""

    def word(name: str, **fields: object) -> str:
        return t(f"web.{name}", lang, **fields)

    exercises = list(service.catalog.exercises.values())
    return _env.get_template(template).render(
        lang=lang,
        t=word,
        json_block=json_block,
        html_lang="zh-CN" if lang == "zh" else "en",
        weak=isolation is not None and isolation.startswith("weak"),
        has_book=(service.settings.book / lang / "index.html").is_file(),
        passed=sum(standing.get(one.id) == "accepted" for one in exercises),
        total=len(exercises),
        standing=standing,
        **values,
    )


@router.get("/")
def root(request: Request) -> Response:
    """To the page in the browser's language."""
    lang = preferred(request.headers.get("accept-language", ""))
    return RedirectResponse(
        f"/{lang}/", 302, headers={"vary": "Accept-Language", "cache-control": "no-store"}
    )


@router.get("/favicon.ico")
def favicon() -> Response:
    return FileResponse(Path(__file__).parent / "static" / "mark.svg", media_type="image/svg+xml")


@router.get("/{lang}/")
def home(lang: Page, service: Here, user: User) -> HTMLResponse:
    """All exercises by chapter, and the next step."""
    standing = service.store.standing(user)
    exercises = list(service.catalog.exercises.values())
    following = next((one for one in exercises if standing.get(one.id) != "accepted"), None)
    chapters: dict[str, list[Exercise]] = {}
    for one in exercises:
        chapters.setdefault(one.chapter, []).append(one)
    return HTMLResponse(
        render(
            "home.html",
            lang,
            service,
            standing,
            path="/",
            following=following,
            chapters=[
                (chapter_title(name, lang), chapter_link(service, name, lang), members)
                for name, members in chapters.items()
            ],
        )
    )


@router.get("/{lang}/exercises")
def exercise_list(lang: Page) -> Response:
    """The list is the first page."""
    return RedirectResponse(f"/{lang}/", 308)


@router.get("/{lang}/exercises/{name}")
def exercise(lang: Page, name: str, service: Here, user: User) -> Response:
    """One exercise: statement, editor, samples, verdict."""
    found = service.catalog.get(name)
    if found is None:
        return missing(service, lang, "not_found", status=404)
    if name != str(found.id):
        return RedirectResponse(f"/{lang}/exercises/{found.id}", 308)
    standing = service.store.standing(user)
    exercises = list(service.catalog.exercises.values())
    following = exercises[(exercises.index(found) + 1) % len(exercises)]
    limits = found.limits
    html = render(
        "exercise.html",
        lang,
        service,
        standing,
        path=f"/exercises/{found.id}",
        exercise=found,
        siblings=[one for one in exercises if one.chapter == found.chapter],
        following=following,
        chapter=chapter_title(found.chapter, lang),
        chapter_href=chapter_link(service, found.chapter, lang),
        statement=Markup(statement_html(found, lang)),
        python=".".join(platform.python_version_tuple()[:2]),
        data={
            "id": found.id,
            "slug": found.slug,
            "name": found.name,
            "lang": lang,
            "points": found.points,
            "engine": found.place != "none",
            "own": found.place == "engine",
            "filename": f"{found.key}.py",
            "starter": starter(found, lang),
            "rules": {str(rule.number): rule.text[lang] for rule in found.rules},
            "hints": [hint[lang] for hint in found.hints],
            "limits": {"cpu_s": limits.cpu_s, "memory_mb": limits.memory_mb},
            "next": None if following is found else {"id": following.id, "name": following.name},
        },
        words=script_words(lang),
    )
    return HTMLResponse(html)


@router.get("/book/{lang}/{path:path}")
async def book(lang: Page, path: str, service: Here) -> Response:
    """A file of the built book; a page that says how to build it where there is none."""
    base = service.settings.book / lang
    file = book_file(base, path)
    if file is not None:
        return FileResponse(file, headers={"cache-control": "no-cache"})
    why = "not_found" if (base / "index.html").is_file() else "no_book"
    return await run_in_threadpool(missing, service, lang, why, status=404)


def book_file(base: Path, path: str) -> Path | None:
    """The readable file below `base` that `path` names; None for whatever else an address may hold."""
    wanted = path + "index.html" if path == "" or path.endswith("/") else path
    if "\x00" in wanted or "\\" in wanted:
        return None
    try:
        root = base.resolve()
        file = (root / wanted).resolve()
        inside = file.is_relative_to(root) and file.is_file() and os.access(file, os.R_OK)
    except (
        OSError,
        RuntimeError,
        UnicodeError,
    ):  # too long, links in a circle, no UTF-8
        return None
    return file if inside else None


@router.get("/book/{lang}")
def book_root(lang: Page) -> Response:
    return RedirectResponse(f"/book/{lang}/", 308)


def missing_page(request: Request) -> HTMLResponse:
    """The page for an address that is none, in the language of the address or of the browser."""
    return missing(service_of(request), _language(request), "not_found", status=404)


def fault_page(request: Request, status: int) -> HTMLResponse:
    """The page for a fault of ours; it needs no database, which may be what is at fault."""
    html = fill(
        "message.html",
        _language(request),
        service_of(request),
        {},
        None,
        path="/",
        why="fault",
        counted=False,
    )
    return HTMLResponse(html, status, headers={"retry-after": "5"})


def _language(request: Request) -> str:
    """That of the address, else the browser's."""
    first = request.url.path.removeprefix("/book").split("/")[1:2]
    if first and first[0] in LANGS:
        return first[0]
    return preferred(request.headers.get("accept-language", ""))


def missing(service: Service, lang: str, why: str, *, status: int) -> HTMLResponse:
    """A page that says what is not there and where to go."""
    standing = service.store.standing(service.learner)
    return HTMLResponse(render("message.html", lang, service, standing, path="/", why=why), status)


def chapter_title(name: str, lang: str) -> str:
    """ "Chapter 8 · CacheManager and admission" for `08_cache_manager`."""
    number = name[:2]
    return t("web.chapter", lang, n=int(number), title=t(f"web.chapter_{number}", lang))


def chapter_link(service: Service, name: str, lang: str) -> str | None:
    """The chapter's page in the book, where it is built."""
    page = service.settings.book / lang / f"{name}.html"
    return f"/book/{lang}/{name}.html" if page.is_file() else None
