"""The pages as HTML: languages, addresses, nothing secret, the same words in both languages."""

from __future__ import annotations

import dataclasses
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from judge.exercises import ROOT, load_exercises
from judge.i18n import LANGS, t
from tools.site.course import STAGES
from tools.site.data import json_block, script_words
from tools.site.pages import Assets, Pages, say
from tools.site.styles import BUNDLES

sys.path.insert(0, str(ROOT / "tests" / "judge" / "service"))

from course import make_course

PAGES = ("", "exercises/", "exercises/176/", "playground/", "cards/", "progress/")


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


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages of a course with the exercises 176 and 192."""
    folder = tmp_path_factory.mktemp("site")
    course = make_course(folder / "course")
    styles = {name: f"{name}.css" for name in BUNDLES}
    Pages(course, load_exercises(course), Assets(styles, book=("book/zh/index.html",))).write(folder / "out")
    return folder / "out"


@pytest.mark.parametrize("lang", LANGS)
@pytest.mark.parametrize("path", PAGES)
def test_a_page_names_its_language_and_nothing_foreign(site: Path, lang: str, path: str) -> None:
    text = (site / lang / path / "index.html").read_text(encoding="utf-8")
    assert f'<html lang="{"zh-CN" if lang == "zh" else "en"}">' in text
    page = Addresses(text)
    assert page.inline == []
    here = site / lang / path
    for address in page.addresses:
        parts = urlsplit(address)
        assert not parts.scheme and not parts.netloc and not address.startswith("/"), address
        if parts.path and not parts.path.lstrip("./").startswith(("assets/", "book/")):
            target = (here / parts.path).resolve()
            assert (target / "index.html").is_file(), f"{address} leads nowhere"
    other = "en" if lang == "zh" else "zh"
    up = "../" * (1 + path.count("/"))
    assert f'href="{up}{other}/{path}"' in text, "the language link keeps the page"


def test_a_statement_is_read_without_scripts_and_holds_none(site: Path) -> None:
    text = (site / "en/exercises/176/index.html").read_text(encoding="utf-8")
    main = text[text.index("<main") :]
    assert "<td>1</td>" in main and "<code>code</code>" in main
    assert "&lt;script&gt;" in main and 'href="javascript' not in main
    assert "def" in main and "multiply by two" in main, "the starter, too"


def test_the_map_draws_only_exercises_that_exist_and_says_what_is_not_written(site: Path) -> None:
    text = (site / "en/index.html").read_text(encoding="utf-8")
    assert set(re.findall(r'data-slot="(\d+)"', text)) == {"176", "192"}
    assert len(re.findall(r"data-chapter=", text)) == 22
    assert text.count("not written yet") == 22
    assert 'data-fn="192"' not in text, "an adapter without a home in the engine is not in the tree"


@pytest.mark.parametrize("lang", LANGS)
def test_the_map_says_sentences_without_markup(lang: str) -> None:
    for one in load_exercises(ROOT).values():
        words = say(one, lang)
        assert not re.search(r"\*\*|__|\]\(|\$|^#|\{", words.replace("`{", "")), f"{one.id}: {words}"
        assert words.count("`") % 2 == 0, f"{one.id}: {words}"


@pytest.mark.parametrize("runtime", [True, False])
def test_samples_run_in_the_tab_is_said_only_where_they_do(tmp_path: Path, runtime: bool) -> None:
    course = make_course(tmp_path / "course")
    exercises = load_exercises(course)
    exercises[192] = dataclasses.replace(exercises[192], browser="server")
    styles = {name: f"{name}.css" for name in BUNDLES}
    Pages(course, exercises, Assets(styles, runtime=runtime)).write(tmp_path / "out")
    said = {}
    for each in (176, 192):
        text = (tmp_path / f"out/en/exercises/{each}/index.html").read_text("utf-8")
        said[each] = "run in this tab" in text.rpartition("limits")[2]
    assert said == {176: runtime, 192: False}


@pytest.mark.parametrize("judge", [True, False])
def test_a_page_says_whether_its_host_has_a_judge(tmp_path: Path, judge: bool) -> None:
    course = make_course(tmp_path / "course")
    assets = Assets({name: f"{name}.css" for name in BUNDLES}, judge=judge)
    Pages(course, load_exercises(course), assets).write(tmp_path / "out")
    for path in PAGES:
        page = (tmp_path / "out" / "en" / path / "index.html").read_text(encoding="utf-8")
        data = re.search(r'<script type="application/json" id="site-data">(.*?)</script>', page)
        assert data is not None and json.loads(data[1])["judge"] is judge


@pytest.mark.parametrize("lang", LANGS)
def test_the_book_calls_its_parts_as_the_map_does(lang: str) -> None:
    parts = re.findall(r"^# (.+)$", (ROOT / "chapters" / lang / "SUMMARY.md").read_text("utf-8"), re.M)
    assert parts[1:-1] == [t(f"web.stage_{name}", lang) for name in STAGES]


def test_the_map_says_how_long_the_one_file_engine_is() -> None:
    lines = (ROOT / "examples" / "ch00_tiny_engine.py").read_text("utf-8").count("\n")
    assert lines < 200 and "200" in t("web.gist_00", "en") and "二百" in t("web.gist_00", "zh")


def test_what_a_page_carries_cannot_end_its_script() -> None:
    block = str(json_block({"a": "</script><script>alert(1)</script>&\u2028"}))
    assert "<" not in block and ">" not in block and "&" not in block and "\u2028" not in block


def test_words_of_the_scripts_have_the_same_places_in_both_languages() -> None:
    zh, en = script_words("zh"), script_words("en")
    assert zh.keys() == en.keys()
    for key in zh:
        assert set(re.findall(r"\{\w+\}", zh[key])) == set(re.findall(r"\{\w+\}", en[key])), key


def test_scripts_use_words_that_exist_and_no_word_is_left_over() -> None:
    sources = "".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "web" / "src" / "app").rglob("*.ts"))
    )
    words = script_words("en")
    called = set(re.findall(r"""\bt\(\s*"(\w+)"[,)]""", sources))
    assert called <= words.keys(), called - words.keys()
    stems = tuple(re.findall(r"`(\w+_)\$\{", sources))
    unused = [key for key in words if f'"{key}"' not in sources and not key.startswith(stems)]
    assert unused == []
