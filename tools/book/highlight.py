"""Python to HTML with six classes: k(eyword), s(tring), n(umber), c(omment), f(unction), b(uiltin)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from pygments.lexers import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

_CLASSES: Sequence[tuple[_TokenType, str]] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Keyword.Constant, "k"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Builtin.Pseudo, "b"),
    (Name.Decorator, "b"),
)


def highlight(code: str, marks: dict[int, int] | None = None) -> str:
    """`code` as HTML, with a numbered ring before each line (counted from 0) that `marks` names.

    No line of the result is empty: an empty line would end the HTML block in Markdown.
    """
    pieces: list[str] = []
    for token, value in PythonLexer(stripnl=False).get_tokens(code):
        css = next((name for kind, name in _CLASSES if token in kind), "")
        for index, part in enumerate(value.split("\n")):
            if index:
                pieces.append("\n")
            text = escape(part, quote=False)
            pieces.append(f'<i class="{css}">{text}</i>' if css and text else text)
    lines = "".join(pieces).rstrip("\n").split("\n")
    for number, mark in (marks or {}).items():
        lines[number] = f'<b class="ref" aria-hidden="true">{mark}</b>{lines[number]}'
    return keep_blank_lines("\n".join(lines))


def keep_blank_lines(html: str) -> str:
    """The same text without an empty line: the newline that would make one becomes a character reference."""
    return re.sub(r"\n(\n+)", lambda more: "\n" + "&#10;" * len(more[1]), html)
