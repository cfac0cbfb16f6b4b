"""The pages as HTML: languages, addresses, the book."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

from judge.i18n import LANGS
from judge.service.language import from_locale, preferred
from judge.service.pages import json_block, script_words


class Addresses(HTMLParser):
    """Every address a page loads or links to, and its inline scripts and styles."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.inline: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action") and value:
                self.addresses.append(value)
            if name == "style" or name.startswith("on"):
                self.inline.append(f"{tag} {name}")
        if tag == "style" or (tag == "script" and not {"src", "type"} & {name for name, _ in attrs}):
            self.inline.append(tag)


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


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("path", ["/", "/exercises/176"])
def test_a_page_names_its_language_and_nothing_foreign(idle: Any, lang: str, path: str) -> None:
    answer = idle.client.get(f"/{lang}{path}")
    assert answer.status_code == 200
    assert f'<html lang="{"zh-CN" if lang == "zh" else "en"}">' in answer.text
    page = Addresses(answer.text)
    assert page.inline == []
    for address in page.addresses:
        assert address.startswith(("/", "#")) and not address.startswith("//"), address
        if address.startswith("/static/"):
            assert idle.client.get(address.partition("#")[0]).status_code == 200, address
    other = "en" if lang == "zh" else "zh"
    assert f'href="/{other}{path}"' in answer.text, "the language link keeps the page"


def test_addresses_of_an_exercise(idle: Any) -> None:
    for name in ("double", "176_double"):
        answer = idle.client.get(f"/en/exercises/{name}")
        assert (answer.status_code, answer.headers["location"]) == (308, "/en/exercises/176")
    assert idle.client.get("/en/exercises/999").status_code == 404
    assert "There is nothing" in idle.client.get("/en/exercises/999").text


@pytest.mark.parametrize("path", ["/fr/", "/fr/exercises/176", "/nothing", "/en/nothing", "/static/none.js"])
def test_an_address_that_is_none(idle: Any, path: str) -> None:
    browser = {"accept": "text/html,*/*", "accept-language": "en"}
    answer = idle.client.get(path, headers=browser, follow_redirects=True)
    assert answer.status_code == 404 and "<h1>There is nothing at this address</h1>" in answer.text
    answer = idle.client.get(path, headers={"accept": "application/json"}, follow_redirects=True)
    assert answer.status_code in (404, 422) and answer.json()["error"]["message"]["zh"]
    assert idle.client.get("/api/v1/none", headers=browser).json()["error"]["code"] == "not_found"


def test_the_book_is_served_where_it_is_built(idle: Any) -> None:
    assert "make book" in idle.client.get("/book/zh/").text
    assert 'href="/book/zh/"' not in idle.client.get("/zh/").text
    folder = idle.settings.book / "zh"
    folder.mkdir(parents=True)
    (folder / "index.html").write_text("the book")
    (folder / "04_kvcache.html").write_text("chapter 4")
    assert idle.client.get("/book/zh/").text == "the book"
    assert idle.client.get("/book/zh/04_kvcache.html").text == "chapter 4"
    assert "make book" not in idle.client.get("/book/zh/none.html").text
    assert 'href="/book/zh/"' in idle.client.get("/zh/").text
    assert 'href="/book/zh/04_kvcache.html"' in idle.client.get("/zh/exercises/176").text


def test_what_a_page_carries_cannot_end_its_script() -> None:
    block = str(json_block({"a": "</script><script>alert(1)</script>&\u2028"}))
    assert "<" not in block and ">" not in block and "&" not in block and "\u2028" not in block


def test_words_of_the_scripts_have_the_same_places_in_both_languages() -> None:
    import re

    zh, en = script_words("zh"), script_words("en")
    assert zh.keys() == en.keys()
    for key in zh:
        assert set(re.findall(r"\{\w+\}", zh[key])) == set(re.findall(r"\{\w+\}", en[key])), key
