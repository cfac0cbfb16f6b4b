"""Books of one page: what is wrong in a source is said with file and line, and nothing is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.book.build import build
from tools.book.mdbook import BuildError
from tools.book.printing import whole_book
from tools.book.site import ROOT
from tools.book.source import SourceError
from tools.book.summary import Entry, read_summary, same_pages


def course(root: Path, text: str, summary: str = "[A](index.md)\n", **files: str) -> Path:
    """A course whose two languages say the same."""
    for lang in ("zh", "en"):
        folder = root / "chapters" / lang
        folder.mkdir(parents=True)
        (folder / "SUMMARY.md").write_text(f"# S\n\n{summary}")
        (folder / "index.md").write_text(f"---\ntitle: a\nlead: b\n---\n\n{text}\n")
        for name, content in files.items():
            (folder / f"{name}.md").write_text(f"---\ntitle: {name}\nlead: c\n---\n\n{content}\n")
    (root / "book.toml").write_text((ROOT / "book.toml").read_text())
    return root


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("see [x](none.md)", "chapters/zh/index.md:6: no page or file none.html"),
        ("see [x](#none)", "chapters/zh/index.md:6: no section #none"),
        ("\nsee [x](/zh/exercises)", "chapters/zh/index.md:7: a link from the root of a host"),
        ("see [x](repo:none.md)", "chapters/zh/index.md:6: no file none.md"),
        ("see [x](exercise:999)", "chapters/zh/index.md:6: no exercise 999"),
        ("see [x](site:elsewhere/)", "the site has no ../../zh/elsewhere/"),
        ("see [x](javascript:alert)", "a link of an unknown kind: javascript:alert"),
        ("so $\\frac{1}$ is wrong", "chapters/zh/index.md:6: KaTeX does not take $\\frac{1}$"),
        ("```{animation} none\n```", "chapters/zh/index.md:6: {animation}: no animation none"),
    ],
)
def test_mistakes_are_named_with_file_and_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(BuildError) as raised:
        build(tmp_path / "out", course(tmp_path / "course", text))
    assert said in str(raised.value)
    assert not (tmp_path / "out").exists()


def test_what_is_right_is_built(tmp_path: Path) -> None:
    text = "(here)=\n## Here\n\n[up](#here), [site](site:playground/), $x_1$, [out](https://example.org/)"
    build(tmp_path / "out", course(tmp_path / "course", text))
    page = (tmp_path / "out" / "en" / "index.html").read_text()
    assert 'href="../../en/playground/"' in page
    assert 'class="katex"' in page
    assert '<link rel="stylesheet" href="assets/katex.css">' in page
    assert (tmp_path / "out" / "en" / "assets" / "katex.css").is_file()
    assert "Khan Academy" in (tmp_path / "out" / "en" / "assets" / "katex.LICENSE.txt").read_text()
    assert (tmp_path / "out" / "zh" / "pagefind" / "pagefind-entry.json").is_file()


def test_the_summary_lists_every_page_once(tmp_path: Path) -> None:
    root = course(tmp_path, "x", "[A](index.md)\n\n# Part\n\n- [B](b.md)\n", b="y")
    entries = read_summary(root, "zh")
    assert [(entry.title, entry.page, entry.part) for entry in entries] == [
        ("A", "index.html", ""),
        ("B", "b.html", "Part"),
    ]
    same_pages({"zh": entries, "en": entries})
    with pytest.raises(SourceError, match=r"chapters/en/SUMMARY.md:1: not the same pages as in zh: b.md"):
        same_pages({"zh": entries, "en": entries[:1]})


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        ("[A](index.md)\n", r"SUMMARY.md:3: not listed: b.md"),
        ("[A](index.md)\n- [B](b.md)\n- [C](c.md)\n", r"SUMMARY.md:5: no file c.md"),
        ("[A](index.md)\n- [B](b.md)\n- [B](b.md)\n", r"SUMMARY.md:5: b.md stands here a second time"),
        ("[A](index.md)\n* B\n", r"SUMMARY.md:4: an entry reads: - \[title\]\(file.md\)"),
    ],
)
def test_a_wrong_summary_is_named(tmp_path: Path, summary: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read_summary(course(tmp_path, "x", summary, b="y"), "zh")


def test_links_stay_within_the_page_that_holds_all() -> None:
    frame = '<html lang="en"><head><title>t</title></head><body><div class="book">'
    pages = {
        "a.html": f'{frame}<article><h2 id="x">X</h2><a href="#x">1</a><a href="b.html#y">2</a></article>',
        "b.html": f'{frame}<article><h2 id="y">Y</h2><a href="a.html">3</a><use href="#i-file"/></article>',
    }
    html = whole_book([Entry("A", "a.md", ""), Entry("B", "b.md", "")], pages, "en")
    for piece in ('id="a--x"', 'href="#a--x"', 'href="#b--y"', 'href="#a"', '<use href="#i-file"/>'):
        assert piece in html
    assert html.count("<title>") == 1
