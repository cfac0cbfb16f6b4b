"""Formulas: found outside of code, set by KaTeX while the book is built, without inline styles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.book.maths import MathError, Setter, formulas, mark_formulas
from tools.book.parts import inline
from tools.book.source import Source, SourceError, parse

HERE = Path("chapters/zh/99_x.md")


def marked(text: str) -> str:
    return mark_formulas(Source(HERE, {}, text, 1))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("两端取整 $\\lceil a/b \\rceil$，再减。", [("\\lceil a/b \\rceil", False)]),
        ("$a_1*b$ and $c*d_1$", [("a_1*b", False), ("c*d_1", False)]),
        ("`$a$` and ``$b$ ` c``", []),
        ("costs \\$5 and $ 6, or 7$", []),
        ("from $5 to $6", []),
        ("$$\nx < y\n$$", [("x < y", True)]),
        ("a\n\n$$x$$\n\nb", [("x", True)]),
        (":::{selftest} Why $x$?\nBecause $y$.\n:::", [("y", False)]),
        ("```python\ncost = '$a$'\n```\n$b$", [("b", False)]),
        ("- item\n\n  ```bash\n  echo $a$\n  ```\n", []),
        ("```{include} a.py\n- `x` $a$\n```", []),  # set with the reason, not in the source
    ],
)
def test_formulas_are_found_outside_of_code(text: str, found: list[tuple[str, bool]]) -> None:
    out = marked(text)
    assert formulas(out) == found
    assert out.count("\n") == text.count("\n")  # lines keep their numbers


@pytest.mark.parametrize("text", ["a $$x$$ b", "a\n$$x$$\n\nb", "$$\nx\n$$\nb"])
def test_a_displayed_formula_stands_alone(text: str) -> None:
    with pytest.raises(SourceError, match=r"99_x\.md:\d: \$\$ needs lines of its own"):
        marked(text)


def test_captions_and_titles_may_hold_formulas() -> None:
    assert formulas(inline("高 $h_1*h_2$ 与 `$x$`")) == [("h_1*h_2", False)]


def test_katex_sets_them_without_inline_styles(tmp_path: Path) -> None:
    text = marked("$\\frac{q k^\\top}{\\sqrt{d}}$\n\n$$\n\\sum_i p_i\n$$\n")
    setter = Setter(formulas(text))
    html = setter.set(text)
    assert html.count('class="katex"') == 2
    assert "katex-display" in html
    assert "style=" not in html
    assert '<annotation encoding="application/x-tex">\\sum_i p_i</annotation>' in html
    setter.publish(tmp_path)
    sheet = (tmp_path / "katex.css").read_text()
    fonts = {path.name for path in (tmp_path / "fonts").iterdir()}
    assert "KaTeX_Main-Regular.woff2" in fonts
    assert "KaTeX_Fraktur-Regular.woff2" not in fonts
    assert all(f"fonts/{name}" in sheet for name in fonts)
    assert sheet.count("url(") == len(fonts)


def test_a_book_without_formulas_carries_nothing_of_katex(tmp_path: Path) -> None:
    Setter([]).publish(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_what_katex_does_not_take_is_an_error() -> None:
    with pytest.raises(MathError, match=r"KaTeX does not take .*: KaTeX parse error") as raised:
        Setter([("\\frac{1}", False)])
    assert raised.value.tex == "\\frac{1}"


def test_front_matter_is_left_alone() -> None:
    source = parse("---\ntitle: $a$\n---\n$b$\n", HERE)
    assert formulas(mark_formulas(source)) == [("b", False)]
