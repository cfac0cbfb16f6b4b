"""Parsing chapter sources: front matter, fences, errors that name file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.book.preprocess import label_headings
from tools.book.source import Directive, Source, SourceError, expand, parse

HERE = Path("chapters/zh/99_x.md")


def collect(text: str, first_line: int = 1) -> list[Directive]:
    found: list[Directive] = []

    def note(directive: Directive) -> str:
        found.append(directive)
        return f"<{directive.name}>"

    expand(text, HERE, first_line, note)
    return found


def test_front_matter_is_split_off_and_lines_keep_their_numbers() -> None:
    source = parse("---\nchapter: 8\ntitle: 页\n---\n\n# a\n", HERE)
    assert source.head == {"chapter": 8, "title": "页"}
    assert (source.text, source.first_line) == ("\n# a\n", 5)


@pytest.mark.parametrize("text", ["---\nchapter: 8\n", "---\n- a\n---\n", "---\na: [\n---\n"])
def test_bad_front_matter_names_the_file(text: str) -> None:
    with pytest.raises(SourceError, match=r"99_x\.md:1: the front matter"):
        parse(text, HERE)


def test_a_directive_has_argument_options_body_and_lines() -> None:
    (directive,) = collect("a\n\n```{include} x.py#f\n:fold: see later\n- `a` why\n```\nb", first_line=10)
    assert (directive.name, directive.argument) == ("include", "x.py#f")
    assert directive.options == {"fold": "see later"}
    assert directive.body == "- `a` why"
    assert (directive.line, directive.body_line) == (12, 14)


def test_what_looks_like_a_directive_inside_fenced_code_is_left_alone() -> None:
    text = "````text\n```{include} x.py\n```\n````"
    assert collect(text) == []
    assert expand(text, HERE, 1, lambda directive: "gone") == text


def test_a_colon_fence_holds_other_fences() -> None:
    (outer,) = collect("::::{fold} why\nprose\n\n:::{note}\nx\n:::\n\n```{output} ch08\n```\n::::")
    assert (outer.name, outer.argument) == ("fold", "why")
    assert outer.body == "prose\n\n:::{note}\nx\n:::\n\n```{output} ch08\n```"


def test_text_around_stays_as_it_is() -> None:
    assert expand("a\n```{x} b\n```\nc", HERE, 1, lambda directive: "X") == "a\nX\nc"


def test_an_open_fence_is_an_error_at_its_line() -> None:
    with pytest.raises(SourceError, match=r"99_x\.md:6: the fence"):
        collect("a\n```{include} x.py\n", first_line=5)


def chapter(text: str) -> Source:
    return Source(HERE, {"chapter": 9}, text, 4)


def test_labels_become_ids_and_sections_need_one() -> None:
    assert label_headings(chapter("(idea)=\n## 一页一主\n")) == "\n## 一页一主 {#idea}\n"
    with pytest.raises(SourceError, match=r"99_x\.md:4: a section needs a label"):
        label_headings(chapter("## 一页一主\n"))
    with pytest.raises(SourceError, match=r"99_x\.md:6: no heading after the label \(idea\)="):
        label_headings(chapter("(idea)=\n\ntext\n"))


def test_headings_inside_code_are_no_sections() -> None:
    text = "```python\n## not a section\n```\n"
    assert label_headings(chapter(text)) == text
