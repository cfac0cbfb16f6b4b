"""A small grammar format for text that a person can proofread, and its expander.

A file holds rules, tables and comments (lines that begin with ``# ``)::

    @greeting              a rule: one alternative a line
    Hello, {name}. <wish>
    @@ name he             a table: the columns' names, then one row a line, cells split by " | "
    Tom | he
    @wish
    How are you?

``<rule>`` is expanded anew each time; ``<rule?>`` half of the time, otherwise it is nothing; ``<rule^>`` with
a capital first letter. ``{slot}`` is chosen once in a document and remembered: a column takes a row of its
table and binds the whole row, a rule's name binds one of its expansions; ``{Slot}`` is ``{slot}`` with a
capital. Cells may hold rules and slots. A row that ends in ``|`` goes on in the next line. ``¶`` ends a
paragraph, ``⏎`` a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

TEXT = Path(__file__).parent / "text"
_TOKEN = re.compile(r"<(\w+)([?^]?)>|\{(\w+)\}")
# "a apple" -> "an apple"; words such as "unit" and "one" keep their "a"
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeio](?!ne\b|nce\b)|hones|hono|hour|um|un[^i]|up|ug)")


@dataclass
class Grammar:
    """Rules (name to alternatives) and tables (column to the table's columns and rows)."""

    rules: dict[str, list[str]] = field(default_factory=dict)
    tables: dict[str, tuple[list[str], list[list[str]]]] = field(default_factory=dict)

    def expand(self, rule: str, rng: Random, bound: Mapping[str, str] | None = None) -> str:
        """One document from ``rule``; ``bound`` gives slots their values beforehand.

        Raises KeyError: a rule or slot that the grammar does not have.
        """
        text = self._fill(rng.choice(self.rules[rule]), rng, dict(bound or {}))
        text = text.replace(" ¶", "\n\n").replace("¶", "\n\n").replace("⏎", "\n")
        return re.sub(r" {2,}", " ", text).strip()

    def _fill(self, text: str, rng: Random, bound: dict[str, str]) -> str:
        def one(match: re.Match[str]) -> str:
            rule, mark, slot = match.groups()
            if slot:
                return self._slot(slot, rng, bound)
            if mark == "?" and rng.random() < 0.5:
                return ""
            value = self._fill(rng.choice(self.rules[rule]), rng, bound)
            return value[:1].upper() + value[1:] if mark == "^" else value

        return _TOKEN.sub(one, text)

    def _slot(self, slot: str, rng: Random, bound: dict[str, str]) -> str:
        if slot not in bound and slot in self.tables:
            columns, rows = self.tables[slot]
            for column, cell in zip(columns, rng.choice(rows), strict=True):
                bound.setdefault(column, cell)
        if slot in bound:
            bound[slot] = self._fill(bound[slot], rng, bound)
            return bound[slot]
        if slot in self.rules:
            bound[slot] = self._fill(rng.choice(self.rules[slot]), rng, bound)
            return bound[slot]
        lower = slot[0].lower() + slot[1:]
        if lower == slot:
            raise KeyError(f"no rule or column named {slot!r}")
        value = self._slot(lower, rng, bound)
        return value[:1].upper() + value[1:]


def parse(text: str) -> Grammar:
    """Read the format above. Raises ValueError with the line's number for a line that belongs nowhere."""
    grammar = Grammar()
    alternatives: list[str] | None = None
    columns: list[str] = []
    rows: list[list[str]] | None = None
    carried = ""
    for number, raw in enumerate(text.splitlines(), 1):
        line = carried + raw.strip()
        carried = ""
        if not line or line.startswith("# "):
            continue
        if line.startswith("@@"):
            columns, rows, alternatives = line[2:].split(), [], None
            grammar.tables.update(dict.fromkeys(columns, (columns, rows)))
        elif line.startswith("@"):
            alternatives, rows = grammar.rules.setdefault(line[1:].strip(), []), None
        elif rows is not None:
            if line.endswith("|"):
                carried = line + " "
                continue
            cells = [cell.strip() for cell in line.split(" | ")]
            if len(cells) != len(columns):
                raise ValueError(f"line {number}: {len(cells)} cells for the columns {columns}")
            rows.append(cells)
        elif alternatives is not None:
            alternatives.append(line)
        else:
            raise ValueError(f"line {number} stands before the first rule")
    return grammar


def load(name: str) -> Grammar:
    """The grammar ``text/<name>.grammar``."""
    return parse((TEXT / f"{name}.grammar").read_text(encoding="utf-8"))


def english(text: str) -> str:
    """Mend the article before a vowel in generated English."""
    return _ARTICLE.sub(r"\1n ", text)
