"""The built site as the service answers with it: languages, addresses, caching, what is not there."""

from __future__ import annotations

import shutil
from typing import Any

import httpx
import pytest

from judge.service import pages
from judge.service.language import from_locale, preferred


@pytest.mark.parametrize(
    ("header", "lang"),
    [
        ("", "zh"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,en;q=0.9,zh;q=0.5", "en"),
        ("en;q=0.2,zh-TW;q=0.7", "zh"),
        ("fr-FR", "en"),
        ("zh;q=0,en;q=0.1", "en"),
        ("zh;q=0", "en"),
        ("*", "zh"),
        (";;,q=,=;q=x", "en"),
        ("en" * 100_000, "en"),
    ],
)
def test_language_by_header(idle: Any, header: str, lang: str) -> None:
    assert preferred(header) == lang
    answer = idle.client.get("/", headers={"accept-language": header[:4000]})
    assert (answer.status_code, answer.headers["location"]) == (302, f"/{lang}/")
    assert answer.headers["vary"] == "Accept-Language"


def test_language_by_locale() -> None:
    assert from_locale({"LANG": "zh_CN.UTF-8"}) == "zh"
    assert from_locale({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}) == "en"
    assert from_locale({}) == "en"


def test_addresses_of_an_exercise(idle: Any) -> None:
    for name in ("double", "176_double", "176"):
        answer = idle.client.get(f"/en/exercises/{name}")
        assert (answer.status_code, answer.headers["location"]) == (308, "/en/exercises/176/")
    assert idle.client.get("/en/exercises/176/").text == "the page"
    assert idle.client.get("/assets/exercises/192.json").json() == {}
    assert idle.client.get("/zh/exercises").headers["location"] == "/zh/exercises/"
    assert idle.client.get("/en/exercises/999", headers={"accept": "text/html"}).status_code == 404


@pytest.mark.parametrize("path", ["/fr/", "/fr/exercises/176", "/nothing", "/en/nothing", "/assets/none.js"])
def test_an_address_that_is_none(idle: Any, path: str) -> None:
    browser = {"accept": "text/html,*/*", "accept-language": "en"}
    answer = idle.client.get(path, headers=browser, follow_redirects=True)
    assert answer.status_code == 404 and answer.text == "<h1>not_found</h1>"
    answer = idle.client.get(path, headers={"accept": "application/json"}, follow_redirects=True)
    assert answer.status_code == 404 and answer.json()["error"]["message"]["zh"]
    assert idle.client.get("/api/v1/none", headers=browser).json()["error"]["code"] == "not_found"


def test_the_book_is_a_part_of_the_site(idle: Any) -> None:
    assert idle.client.get("/book/zh").headers["location"] == "/book/zh/"
    assert idle.client.get("/book/zh/").text == "the book"
    assert idle.client.get("/book/zh/04_kvcache.html").text == "chapter 4"
    assert "not_found" in idle.client.get("/book/zh/none.html", headers={"accept": "text/html"}).text
    assert "no_book" in idle.client.get("/book/en/", headers={"accept": "text/html"}).text


def test_what_a_name_vouches_for_is_kept_and_the_rest_asked_for_anew(idle: Any) -> None:
    for path in ("/assets/app/chunks/desk-0123456789.js", "/assets/styles/site-0123456789.css"):
        assert "immutable" in idle.client.get(path).headers["cache-control"]
    for path in ("/zh/", "/assets/app/site.js", "/assets/runtime/manifest.json"):
        answer = idle.client.get(path)
        assert answer.headers["cache-control"] == "no-cache"
        again = idle.client.get(path, headers={"if-none-match": answer.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
    script = idle.client.get("/assets/app/site.js").headers["content-type"]
    assert script.startswith("text/javascript")


@pytest.mark.parametrize(("lang", "words"), [("zh", "网站还没有构建"), ("en", "The site is not built yet")])
def test_a_site_that_is_not_built_says_how(idle: Any, lang: str, words: str) -> None:
    shutil.rmtree(idle.settings.site)
    answer = idle.client.get(f"/{lang}/", headers={"accept": "text/html"})
    assert answer.status_code == 404 and words in answer.text and "make site" in answer.text
    assert idle.client.get("/api/v1/exercises").status_code == 200, "the judge goes on"


def test_a_fault_of_ours_has_a_page(idle: Any, monkeypatch: Any) -> None:
    def broken(*_args: object) -> None:
        raise OSError("a disk that is gone")

    monkeypatch.setattr(pages, "site_file", broken)
    client = httpx.Client(base_url=idle.client.base_url, headers={"accept": "text/html"})
    monkeypatch.setattr(pages, "_message", lambda request, why, status: pages.HTMLResponse(why, status))
    answer = client.get("/zh/")
    assert (answer.status_code, answer.text) == (500, "fault")
    assert answer.headers["retry-after"] == "5"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
