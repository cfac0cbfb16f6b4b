"""Readers of the data files in ``text/``: rows, terms, questions and code."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from .grammar import TEXT


def _lines(name: str) -> list[str]:
    text = (TEXT / f"{name}.txt").read_text(encoding="utf-8")
    return [line for line in text.splitlines() if not line.startswith("# ")]


@cache
def rows(name: str) -> list[list[str]]:
    """The rows of a file of cells split by `` | ``."""
    return [[cell.strip() for cell in line.split(" | ")] for line in _lines(name) if line.strip()]


@dataclass
class Term:
    """A term of the course: names, definitions and further sentences by language ("en", "zh")."""

    name: dict[str, str]
    definitions: dict[str, list[str]] = field(default_factory=lambda: {"en": [], "zh": []})
    further: dict[str, list[str]] = field(default_factory=lambda: {"en": [], "zh": []})


@cache
def terms() -> list[Term]:
    """All terms. Raises ValueError for a line of unknown kind."""
    found: list[Term] = []
    for line in _lines("terms"):
        mark, _, rest = line.partition(" ")
        if mark == "==":
            english, chinese = rest.split(" | ")
            found.append(Term({"en": english, "zh": chinese}))
        elif mark in ("e", "e+", "z", "z+"):
            target = found[-1].further if mark.endswith("+") else found[-1].definitions
            target["en" if mark[0] == "e" else "zh"].append(rest)
        elif line.strip():
            raise ValueError(f"terms.txt: {line!r}")
    return found


@cache
def questions(name: str) -> list[tuple[list[str], list[str]]]:
    """Pairs of (ways to ask, answers). Raises ValueError for a line of unknown kind."""
    found: list[tuple[list[str], list[str]]] = []
    for line in _lines(name):
        mark, _, rest = line.partition(" ")
        if mark == "Q:":
            found.append((rest.split(" / "), []))
        elif mark == "A:":
            found[-1][1].append(rest)
        elif line.strip():
            raise ValueError(f"{name}.txt: {line!r}")
    return found


@dataclass
class Function:
    """A Python function: ``def name(args):`` and ``body``; ``examples`` are (call, repr of the result)."""

    name: str
    args: str
    returns: dict[str, str]
    body: str = ""
    examples: list[tuple[str, str]] = field(default_factory=list)
    also: dict[str, list[str]] = field(default_factory=lambda: {"en": [], "zh": []})

    def source(self, docstring: str = "") -> str:
        """The whole function, with a docstring if one is given."""
        doc = f'    """{docstring}"""\n' if docstring else ""
        return f"def {self.name}({self.args}):\n{doc}{self.body}"


@cache
def functions() -> list[Function]:
    """All functions of ``code.txt``."""
    found: list[Function] = []
    for line in _lines("code"):
        if line.startswith("== "):
            name, args, english, chinese = line[3:].split(" | ")
            found.append(Function(name, args, {"en": english, "zh": chinese}))
        elif line.startswith("~ "):
            english, chinese = line[2:].split(" | ")
            found[-1].also["en"].append(english)
            found[-1].also["zh"].append(chinese)
        elif line.startswith("> "):
            call, result = line[2:].split(" | ")
            found[-1].examples.append((call, result))
        elif line.strip():
            found[-1].body += line + "\n"
    return found


@dataclass
class Snippet:
    """A short program: what it shows by language, its source, and what it prints (nothing if unknown)."""

    about: dict[str, str]
    source: str = ""
    output: list[str] = field(default_factory=list)


@cache
def snippets() -> list[Snippet]:
    """All programs of ``snippets.txt``."""
    found: list[Snippet] = []
    for line in _lines("snippets"):
        if line.startswith("== "):
            english, chinese = line[3:].split(" | ")
            found.append(Snippet({"en": english, "zh": chinese}))
        elif line.startswith("> "):
            found[-1].output.append(line[2:])
        elif found:
            found[-1].source += line + "\n"
    for snippet in found:
        snippet.source = snippet.source.rstrip("\n") + "\n"
    return found
