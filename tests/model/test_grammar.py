"""The grammar format, and the grammars that are written in it."""

from __future__ import annotations

import re
from random import Random

import pytest

from tools.train_tiny.grammar import TEXT, english, load, parse

GRAMMARS = sorted(path.stem for path in TEXT.glob("*.grammar"))
_CHINESE = "[\u4e00-\u9fff]"


def test_rules_slots_and_paragraphs():
    grammar = parse("@story\n{Name} saw {name}. <end>¶<end^>\n@@ name he\nada | she\n@end\nthe end of {he}\n")
    assert grammar.expand("story", Random(0)) == "Ada saw ada. the end of she\n\nThe end of she"


def test_an_optional_rule_is_left_out_half_of_the_time():
    grammar = parse("@a\nx <b?>\n@b\ny\n")
    rng = Random(0)
    shown = [grammar.expand("a", rng) for _ in range(1000)]
    assert 400 < shown.count("x y") < 600
    assert set(shown) == {"x", "x y"}


def test_a_slot_keeps_its_value_and_takes_the_whole_row():
    grammar = parse("@a\n{x}{y}{x}{y}\n@@ x y\n1 | one\n2 | two\n")
    assert {grammar.expand("a", Random(i)) for i in range(20)} == {"1one1one", "2two2two"}


def test_a_bound_slot_is_not_drawn():
    grammar = parse("@a\n{x}\n@x\n1\n2\n")
    assert {grammar.expand("a", Random(i), {"x": "3"}) for i in range(5)} == {"3"}


def test_a_row_goes_on_after_a_bar():
    grammar = parse("@@ x y\n1 |\n  one\n@a\n{x}{y}\n")
    assert grammar.expand("a", Random(0)) == "1one"


@pytest.mark.parametrize(
    ("text", "message"), [("x\n", "line 1"), ("@@ a b\nonly one\n", "line 2: 1 cells for the columns")]
)
def test_a_misplaced_line_is_named(text: str, message: str):
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_an_unknown_name_is_named():
    with pytest.raises(KeyError, match="hero"):
        parse("@a\n{hero}\n").expand("a", Random(0))


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_rule_expands_completely(name: str):
    grammar, rng = load(name), Random(1)
    for rule, alternatives in grammar.rules.items():
        for _ in range(3 * len(alternatives)):
            text = grammar.expand(rule, rng)
            assert text and not re.search(r"[{}<>@|¶⏎]|\bNone\b", text), (rule, text)


@pytest.mark.parametrize("name", [n for n in GRAMMARS if n.endswith("_zh")])
def test_chinese_has_chinese_punctuation(name: str):
    grammar, rng = load(name), Random(2)
    for rule in grammar.rules:
        for _ in range(20):
            text = grammar.expand(rule, rng)
            assert not re.search(rf"{_CHINESE}[,.!?:;\"']|[,.!?:;\"']{_CHINESE}|[。，？！]{{2}}", text), text
            assert text.count("“") == text.count("”"), text


@pytest.mark.parametrize("name", [n for n in GRAMMARS if n.endswith("_en")])
def test_english_has_no_doubled_or_lost_marks(name: str):
    grammar, rng = load(name), Random(3)
    for rule in grammar.rules:
        for _ in range(20):
            text = english(grammar.expand(rule, rng))
            assert text.count('"') % 2 == 0, text
            assert not re.search(r"\.\.|,,| ,| \.|  |\ba [aeio]\w|\ba honest", text), text


def test_articles():
    assert english("a apple, a one, A owl, a unit, a umbrella, a honest man, a house, a hour") == (
        "an apple, a one, An owl, a unit, an umbrella, an honest man, a house, an hour"
    )
