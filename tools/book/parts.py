"""The HTML of the book's pieces, from the macros of `theme/parts.html`."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tools.book.maths import place

THEME = Path(__file__).resolve().parent / "theme"
_INLINE = MarkdownIt("commonmark", {"html": False}).use(dollarmath_plugin, allow_space=False)
_INLINE.add_render_rule("math_inline", lambda self, tokens, at, *_: place(tokens[at].content, display=False))


def inline(markdown: str) -> Markup:
    """One line of Markdown as HTML, without a paragraph around it."""
    return Markup(_INLINE.renderInline(markdown))


@cache
def _macros() -> Any:
    environment = Environment(
        loader=FileSystemLoader(THEME), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters["inline"] = inline
    return environment.get_template("parts.html").module


def part(name: str, /, *args: object, **values: object) -> str:
    """The macro's HTML without an empty line: one would end the HTML block in Markdown."""
    html = str(getattr(_macros(), name)(*args, **values))
    return re.sub(r"\n\s*\n", "\n", html).strip()


def details(css: str, title: str, body: str) -> str:
    """Something to unfold; `body` is Markdown or HTML and may hold empty lines."""
    return f'<details class="{css}"><summary><span>{inline(title)}</span></summary>\n\n{body}\n\n</details>'
