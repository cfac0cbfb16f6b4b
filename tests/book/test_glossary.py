"""The glossary: whole in both languages, and found where it should be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools.book.glossary import FILE, GlossaryError, Marker, Term, load_terms
from tools.book.site import ROOT

ENTRY = """
[[term]]
id = "page"
zh = "页"
en = "page"
chapter = 4
text_zh = "一段。"
text_en = "A stretch."
"""


def term(key: str, zh: str, en: str, *apart: str) -> Term:
    return Term(key, 4, {"zh": zh, "en": en}, {"zh": (zh,), "en": (en,)}, {"zh": "。", "en": "."}, apart)


TERMS = [term("page", "页", "page", "网页", "web page"), term("page-table", "页表", "page table")]


def links(html: str, lang: str) -> list[tuple[str, str]]:
    marked, used = Marker(TERMS, lang).mark(html)
    found = re.findall(r'data-term="([\w-]+)"[^>]*>([^<]+)</a>', marked)
    assert {each.key for each in used} == {key for key, _ in found}
    assert re.sub(r'<a class="term"[^>]*>|(?<=\w)</a>', "", marked) == html
    return found


@pytest.mark.parametrize(
    ("lang", "html", "found"),
    [
        ("zh", "<p>一页，又一页。</p>", [("page", "页")]),
        ("zh", "<p>页表里有页。</p>", [("page-table", "页表"), ("page", "页")]),
        ("zh", "<p>网页上的页</p>", [("page", "页")]),
        ("zh", "<h2>页</h2><p>页</p><h2>又</h2><p>页</p>", [("page", "页"), ("page", "页")]),
        ("zh", "<p><code>页</code><strong>页</strong></p>", [("page", "页")]),
        ("zh", "<section class='x'><p>页</p></section>", [("page", "页")]),
        ("zh", '<section class="ex-inline"><p>页</p></section><p>页表</p>', [("page-table", "页表")]),
        ("zh", "<details><summary>页</summary><p>页</p></details>", [("page", "页")]),
        ("en", "<p>Pages of a web page.</p>", [("page", "Pages")]),
        ("en", "<p>page_size, a-page, pager, my.page</p>", []),
        ("en", "<p>The page table's page.</p>", [("page-table", "page table"), ("page", "page")]),
        ("en", "<pre>page</pre><svg><text>page</text></svg><th>page</th>", []),
        ("en", "<p>a <br> page</p><img alt='page'><p>page</p>", [("page", "page")]),
    ],
)
def test_the_first_use_in_a_section_is_marked(lang: str, html: str, found: list[tuple[str, str]]) -> None:
    assert links(html, lang) == found


def test_the_course_has_its_terms_in_both_languages() -> None:
    terms = load_terms(ROOT)
    assert len(terms) >= 60
    for each in terms:
        assert 0 <= each.chapter <= 21
        assert re.search(r"[\u4e00-\u9fff]", each.text["zh"]), each.key
        assert each.text["zh"].endswith("。"), each.key
        assert each.text["en"].endswith("."), each.key
        assert not re.search(r"[\u4e00-\u9fff]", each.text["en"] + each.name["en"]), each.key
        assert not re.search(r"[,;:?!](?=[\u4e00-\u9fff])", each.text["zh"]), each.key


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (ENTRY.replace('en = "page"', ""), "entry 1 (page) lacks en"),
        (ENTRY + "other = 1", "entry 1 (page) has unknown keys: other"),
        (ENTRY.replace('"page"', '"Page 1"', 1), "an id has lower-case letters"),
        (ENTRY + ENTRY.replace('id = "page"', 'id = "two"'), "belongs to page and to two"),
        ("[[term", "chapters/glossary.toml: "),
    ],
)
def test_a_wrong_entry_is_named(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / FILE).parent.mkdir()
    (tmp_path / FILE).write_text(text)
    with pytest.raises(GlossaryError) as raised:
        load_terms(tmp_path)
    assert said in str(raised.value)
