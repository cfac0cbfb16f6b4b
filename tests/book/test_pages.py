"""The built book: complete, linked, in two languages, without a request to anywhere."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tools.book.build import build
from tools.book.manifest import load_steps
from tools.book.mdbook import BuildError
from tools.book.preprocess import page_html
from tools.book.site import ROOT, read_site
from tools.book.source import SourceError
from tools.book.summary import read_summary

CHAPTERS = sorted(path.stem for path in (ROOT / "chapters" / "zh").glob("[0-9][0-9]_*.md"))
MILESTONES = sorted(path.stem for path in (ROOT / "chapters" / "zh").glob("stage[0-9]_*.md"))
PAGES = ("index.html", *(f"{name}.html" for name in (*CHAPTERS, *MILESTONES)), "glossary.html")
LANGS = ("zh", "en")
# What every chapter has, in this order; between these it has sections of its own.
FRAME = (
    "before", "asks", "idea", "predict", "contract", "files", "code", "run", "official", "tests", "explain",
    "questions", "summary", "mastered", "graded",
)  # fmt: skip
# And a page on the milestone that ends a stage.
MILESTONE = ["built", "run", "mine", "check", "official", "next"]
# Where a chapter may take facts from: each is linked where it is stated.
SOURCES = (
    "https://github.com/sgl-project/",
    "https://docs.sglang.io/",
    "https://github.com/vllm-project/vllm",
    "https://docs.vllm.ai/",
    "https://arxiv.org/abs/",
    "https://www.usenix.org/conference/",
)


class Page(HTMLParser):
    """Ids, links and loaded resources of one file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.headings: list[tuple[str, str]] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if "id" in values:
            self.ids.append(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "use" or tag == "link":
            self.loaded.append(values["href"])
        elif "src" in values:
            self.loaded.append(values["src"])
        if re.fullmatch(r"h[1-3]", tag):
            self.headings.append((tag, values.get("id", "")))


@cache
def page_of(path: Path) -> Page:
    return Page(path)


def all_pages(book: Path) -> list[Page]:
    return [page_of(path) for path in sorted(book.glob("*/*.html"))]


def test_both_trees_have_the_same_pages(book: Path) -> None:
    for lang in LANGS:
        names = [path.name for path in (book / lang).glob("*.html")]
        assert sorted(names) == sorted((*PAGES, "print.html"))


def test_nothing_is_loaded_from_elsewhere(book: Path) -> None:
    for page in all_pages(book):
        for address in page.loaded:
            assert not re.match(r"[a-z]+:|//", address), (page.path, address)
    for sheet in book.rglob("*.css"):
        assert not re.search(r"@import|url\(\s*[\"']?(?:[a-z]+:|//)", sheet.read_text(encoding="utf-8")), (
            sheet
        )
    for script in book.glob("*/assets/js/*.js"):
        assert not re.search(r"https?:|\bfetch\(", script.read_text(encoding="utf-8")), script


def test_pages_carry_no_script_and_no_style_of_their_own(book: Path) -> None:
    for page in all_pages(book):
        text = page.path.read_text(encoding="utf-8")
        scripts = re.findall(r"<script(?![^>]* src=)(?![^>]*application/json)[^>]*>", text)
        assert not scripts, page.path
        assert not re.search(r"<style|<[^>]* style=|<[^>]* on[a-z]+=", text), page.path


def test_links_outside_are_the_repository_and_the_sources(book: Path) -> None:
    repository = read_site().repository
    for page in all_pages(book):
        for address in page.links:
            if re.match(r"[a-z]+:", address):
                assert address.startswith((repository, *SOURCES)), address


def test_every_page_can_be_mended_and_reported(book: Path) -> None:
    repository = read_site().repository
    for lang in LANGS:
        for name in PAGES:
            source = f"chapters/{lang}/{Path(name).stem}.md"
            assert (ROOT / source).is_file()
            links = Page(book / lang / name).links
            assert f"{repository}/edit/main/{source}" in links
            assert any(link.startswith(f"{repository}/issues/new?title=") for link in links)


def test_ids_are_unique_and_every_directive_was_expanded(book: Path) -> None:
    for page in all_pages(book):
        assert len(page.ids) == len(set(page.ids)), page.path
        text = re.sub(r"<pre.*?</pre>", "", page.path.read_text(encoding="utf-8"), flags=re.S)
        assert not re.search(
            r"```|:::|\{(include|output|exercise|selftest|animation|tree)\}|\[\[|\)=\n", text
        )


def test_the_language_switch_keeps_the_page_and_its_sections(book: Path) -> None:
    for name in PAGES:
        zh, en = Page(book / "zh" / name), Page(book / "en" / name)
        assert f"../en/{name}" in zh.links
        assert f"../zh/{name}" in en.links
        assert zh.headings == en.headings


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_current_chapter_is_marked(book: Path, name: str) -> None:
    text = (book / "zh" / f"{name}.html").read_text(encoding="utf-8")
    assert f'<li class="here"><a href="{name}.html" aria-current="page">' in text


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_every_section_in_order(book: Path, name: str) -> None:
    sections = [name for tag, name in Page(book / "zh" / f"{name}.html").headings if tag == "h2"]
    assert [each for each in sections if each in FRAME] == list(FRAME)


@pytest.mark.parametrize("name", MILESTONES)
def test_a_milestone_has_every_section_and_stands_behind_its_stage(book: Path, name: str) -> None:
    sections = [name for tag, name in Page(book / "zh" / f"{name}.html").headings if tag == "h2"]
    assert [each for each in sections if each in MILESTONE] == MILESTONE
    for lang in LANGS:
        entries = read_summary(ROOT, lang)
        (here,) = (entry for entry in entries if entry.file == f"{name}.md")
        assert load_steps(ROOT)[here.after].milestone == f"examples/{name}.py"
        stage = [entry for entry in entries if entry.part == here.part]
        assert stage[-1] is here
        numbers = [entry.chapter for entry in entries if entry.chapter >= 0]
        assert numbers == sorted(numbers)
        assert max(entry.chapter for entry in stage) <= here.after


@pytest.mark.parametrize("name", CHAPTERS)
def test_the_notebook_can_be_downloaded(book: Path, name: str) -> None:
    for lang in LANGS:
        assert f"{name}.ipynb" in Page(book / lang / f"{name}.html").links
        notebook = book / lang / f"{name}.ipynb"
        assert notebook.read_bytes() == (ROOT / "chapters" / lang / notebook.name).read_bytes()


def test_no_promise_of_chapters_that_are_not_there() -> None:
    for lang in LANGS:
        listed = re.findall(
            r"\]\(([^)]*)\)", (ROOT / "chapters" / lang / "SUMMARY.md").read_text(encoding="utf-8")
        )
        present = {path.name for path in (ROOT / "chapters" / lang).glob("*.md")} - {"SUMMARY.md"}
        assert set(listed) == present


def test_a_page_without_title_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\nlead: x\n---\n")
    with pytest.raises(SourceError, match=r"^a\.md:1: the front matter lacks: title$"):
        page_html(Path("a.md"), "zh", read_site(), tmp_path)


def test_an_error_in_a_source_stops_the_build_and_leaves_the_old_book(tmp_path: Path) -> None:
    root, out = tmp_path / "course", tmp_path / "out"
    for lang in LANGS:
        folder = root / "chapters" / lang
        folder.mkdir(parents=True)
        (folder / "SUMMARY.md").write_text("# S\n\n[A](index.md)\n")
        (folder / "index.md").write_text("---\ntitle: a\nlead: b\n---\n\ntext\n\n```{include} none.py\n```\n")
    (root / "book.toml").write_text((ROOT / "book.toml").read_text())
    out.mkdir()
    (out / "old.html").write_text("old")
    with pytest.raises(BuildError, match=r"chapters/zh/index\.md:8: \{include\}: no file none\.py"):
        build(out, root)
    assert [path.name for path in out.iterdir()] == ["old.html"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".book-")] == []
