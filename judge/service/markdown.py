"""Markdown to HTML for statements. Raw HTML stays text, and links go nowhere but to web pages and our own."""

from __future__ import annotations

from markdown_it import MarkdownIt

_markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def render(text: str) -> str:
    """`text` as HTML that a page may hold as it is: markdown-it escapes HTML and refuses script links.

    Tables are wrapped, so that a wide one scrolls by itself and not the page.
    """
    html = str(_markdown.render(text))
    return html.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace(
        "</table>", "</table></div>"
    )
