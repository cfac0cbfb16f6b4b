"""The built site, served as it lies in `build/site`, and pages for what is not there."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response

from judge.i18n import LANGS, t
from judge.service.api import Service, service_of
from judge.service.compressed import file_response
from judge.service.language import preferred

Here = Annotated[Service, Depends(service_of)]
router = APIRouter(include_in_schema=False)


@router.get("/")
def root(request: Request) -> Response:
    """To the map in the browser's language."""
    lang = preferred(request.headers.get("accept-language", ""))
    return RedirectResponse(
        f"/{lang}/", 302, headers={"vary": "Accept-Language", "cache-control": "no-store"}
    )


@router.get("/favicon.ico")
def favicon(service: Here, request: Request) -> Response:
    return _serve(service.settings.site, "assets/mark.svg", request)


@router.get("/zh/exercises/{name}")
@router.get("/en/exercises/{name}")
def exercise(name: str, service: Here, request: Request) -> Response:
    """Addresses of an exercise without the last slash, and by its name."""
    lang = request.url.path[1:3]
    found = service.catalog.get(name)
    if found is None:
        return file(f"{lang}/exercises/{name}", service, request)
    return RedirectResponse(f"/{lang}/exercises/{found.id}/", 308)


@router.get("/{path:path}")
def file(path: str, service: Here, request: Request) -> Response:
    """A file of the site; an address of a folder without its last slash is sent on."""
    site = service.settings.site
    if path and not path.endswith("/") and site_file(site, path + "/") is not None:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/{path}/{query}", 308)
    return _serve(site, path, request)


def _serve(site: Path, path: str, request: Request) -> Response:
    """The file, or the exception that becomes a page for a browser and JSON for a program."""
    found = site_file(site, path)
    if found is None:
        raise HTTPException(404)
    return file_response(found, request.headers)


def site_file(site: Path, path: str) -> Path | None:
    """The readable file in `site` that `path` names; None for whatever else an address may hold."""
    wanted = path + "index.html" if path == "" or path.endswith("/") else path
    if "\x00" in wanted or "\\" in wanted or any(part.startswith(".") for part in wanted.split("/")):
        return None
    try:
        root = site.resolve()
        found = (root / wanted).resolve()
        inside = found.is_relative_to(root) and found.is_file() and os.access(found, os.R_OK)
    except (OSError, RuntimeError, UnicodeError):  # too long, links in a circle, no UTF-8
        return None
    return found if inside else None


def missing_page(request: Request) -> Response:
    """The page for an address that is none, in the language of the address or of the browser."""
    site = service_of(request).settings.site
    if site_file(site, "zh/") is None:
        return _message(request, "no_site", 404)
    book = request.url.path.startswith("/book/") and site_file(site, f"book/{_language(request)}/") is None
    return _message(request, "no_book" if book else "not_found", 404)


def fault_page(request: Request, status: int) -> Response:
    """The page for a fault of ours; it needs no database, which may be what is at fault."""
    answer = _message(request, "fault", status)
    answer.headers["retry-after"] = "5"
    # The guard does not see what fails outside of it.
    for name, value in service_of(request).headers.of(request.url.path).items():
        answer.headers.setdefault(name, value)
    return answer


def _message(request: Request, why: str, status: int) -> Response:
    """The built page of that name, or the same words bare where the site is not built."""
    lang = _language(request)
    built = site_file(service_of(request).settings.site, f"{lang}/{why}.html")
    if built is not None:
        return HTMLResponse(built.read_text(encoding="utf-8"), status)
    title, text = (escape(t(f"web.{why}_{part}", lang)) for part in ("title", "text"))
    code = "zh-CN" if lang == "zh" else "en"
    return HTMLResponse(
        f'<!doctype html><html lang="{code}"><meta charset="utf-8"><title>{title}</title>'
        f"<h1>{title}</h1><p>{text}</p></html>\n",
        status,
    )


def _language(request: Request) -> str:
    """That of the address, else the browser's."""
    first = request.url.path.removeprefix("/book").split("/")[1:2]
    if first and first[0] in LANGS:
        return first[0]
    return preferred(request.headers.get("accept-language", ""))
