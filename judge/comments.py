"""Break a sentence in either language into comment lines."""

from __future__ import annotations

import re
import unicodedata

_PIECES = re.compile(r"`[^`]*`|[!-~‘’“”]+|\s+|.", re.DOTALL)
_NUMBER = re.compile(r"\d+\. ")
_NEVER_FIRST = "，。、；：？！）》”’"


def comment_lines(text: str, width: int = 96) -> list[str]:
    """``# ...`` lines of at most ``width`` columns, where a Chinese character takes two.

    A line breaks between words, or between Chinese characters but not before their punctuation, and never
    inside code in backticks. What follows a number ("1. ") is indented below it.
    """
    number = _NUMBER.match(text)
    indent = "  " + " " * len(number.group()) if number else "  "
    lines, line = [], "# "
    for unit in _units(text):
        if columns(line + unit.rstrip()) > width and line.strip("# "):
            lines.append(line.rstrip())
            line = "#" + indent[1:] + unit.lstrip()
        else:
            line += unit
    return [*lines, line.rstrip()]


def columns(text: str) -> int:
    """How many columns of a terminal or an editor the text takes."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _units(text: str) -> list[str]:
    """What must stay together: words and code with the punctuation and the space after them."""
    units: list[str] = []
    for piece in _PIECES.findall(text):
        closes = piece.isspace() or piece[0] in _NEVER_FIRST
        glued = units and not units[-1][-1].isspace() and _is_narrow(units[-1][-1]) and _is_narrow(piece[0])
        if units and (closes or glued):
            units[-1] += piece
        else:
            units.append(piece)
    return units


def _is_narrow(character: str) -> bool:
    return not character.isspace() and columns(character) == 1
