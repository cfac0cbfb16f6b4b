r"""Patterns of tokenizers as Python's `re` takes them: no \p{L} there, and a wider \s than Unicode's."""

from __future__ import annotations

import re

from ._unicode import CLASSES

_ESCAPE = re.compile(r"\\p\{(\w+)\}|\\P\{(\w+)\}|\\([sS])|\\(.)|(\[\^?)|(\])", re.DOTALL)


def compiled(pattern: str) -> re.Pattern[str]:
    """ValueError when the pattern uses what is not here."""
    out: list[str] = []
    in_class, at = False, 0
    for match in _ESCAPE.finditer(pattern):
        out.append(pattern[at : match.start()])
        at = match.end()
        named, not_named, space, other, opening, closing = match.groups()
        if named or space == "s":
            ranges = _class(named or "White_Space")
            out.append(ranges if in_class else f"[{ranges}]")
        elif not_named or space == "S":
            if in_class:
                raise ValueError(f"the tab's tokenizer does not know {match[0]} within brackets: {pattern}")
            out.append(f"[^{_class(not_named or 'White_Space')}]")
        elif other:
            out.append(match[0])
        else:
            in_class = bool(opening) or (in_class and not closing)
            out.append(match[0])
    out.append(pattern[at:])
    try:
        return re.compile("".join(out))
    except re.error as error:
        raise ValueError(f"the tab's tokenizer cannot read the pattern {pattern}: {error}") from error


def _class(name: str) -> str:
    if name not in CLASSES:
        raise ValueError(f"the tab's tokenizer does not know the class of characters {name}")
    return CLASSES[name]
