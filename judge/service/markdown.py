"""Markdown to HTML for statements. Raw HTML stays text, and links go nowhere but to web pages and our own."""

from __future__ import annotations

import re
from html import unescape

from markdown_it import MarkdownIt

_markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_CELL = re.compile(r"<t[dh][ >].*?</t[dh]>", re.DOTALL)
_CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
_JOINT = re.compile(r"(?<=[._(])(?=\w)")
_SHORT = 16
"""Characters of code that fit a column of a phone."""


def render(text: str) -> str:
    """`text` as HTML that a page may hold as it is: markdown-it escapes HTML and refuses script links.

    Tables are wrapped, so that a wide one scrolls by itself and not the page; it and a block of code take the
    focus, so that keys can scroll them. Short code in a cell stays on
    its line; longer code may be broken after a dot, an underscore or a bracket, never within a word.
    """
    html = _CELL.sub(lambda cell: _CODE.sub(_code, cell[0]), str(_markdown.render(text)))
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    return html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')


def _code(found: re.Match[str]) -> str:
    inner = found[1]
    if len(unescape(inner)) <= _SHORT:
        return f'<code class="short">{inner}</code>'
    return f"<code>{_JOINT.sub('<wbr>', inner)}</code>"
