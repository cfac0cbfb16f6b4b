"""Statements and samples: both languages say the same, in the same places, and agree with exercise.toml."""

from __future__ import annotations

import ast
import inspect
import re

import pytest

from judge.exercises import Exercise
from judge.solution import solution_text
from judge.starter import starter

HAN = re.compile(r"[一-鿿]")


def blocks(text: str) -> list[str]:
    """The structure of a statement: headings by depth, tables by size, lists by length, code as it stands."""
    found = []
    for part in re.split(r"\n{2,}", text.strip()):
        lines = part.splitlines()
        if part.startswith("#"):
            found.append(f"heading {len(part) - len(part.lstrip('#'))}")
        elif part.startswith("```"):
            found.append(part)
        elif part.startswith("|"):
            found.append(f"table {len(lines)} x {lines[0].count('|')}")
        elif re.match(r"\d+\. ", part):
            found.append(f"list of {len(lines)}")
        else:
            found.append("text")
    return found


def section(text: str, heading: str) -> str:
    found = re.search(rf"^## {heading}\n\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert found, heading
    return found[1].strip()


def test_same_structure(exercise: Exercise) -> None:
    assert blocks(exercise.statement("zh")) == blocks(exercise.statement("en"))


def test_same_code_words(exercise: Exercise) -> None:
    """What is set as code inside the text is the same in both languages."""
    zh, en = (set(re.findall(r"`([^`\n]+)`", exercise.statement(lang))) for lang in ("zh", "en"))
    assert zh == en


@pytest.mark.parametrize(
    ("lang", "headings"),
    [
        ("zh", ("约定", "规则", "你手里有什么", "限制")),
        ("en", ("Contract", "Rules", "What you have", "Limits")),
    ],
)
def test_statement_has_its_parts(exercise: Exercise, lang: str, headings: tuple[str, ...]) -> None:
    text = exercise.statement(lang)
    assert text.startswith(f"# {exercise.title[lang]}\n")
    places = [text.index(f"\n## {heading}\n") for heading in headings]
    assert places == sorted(places)
    rules = [f"{rule.number}. {rule.text[lang]}" for rule in exercise.rules]
    assert section(text, headings[1]).splitlines() == rules


def test_signature_is_the_references(exercise: Exercise) -> None:
    """The statement shows the signature that the reference has."""
    for node in ast.parse(solution_text(exercise)).body:
        if isinstance(node, ast.FunctionDef) and node.name == exercise.name:
            names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
    for lang in ("zh", "en"):
        shown = re.search(rf"def {exercise.name}\((.*?)\) ->", exercise.statement(lang))
        assert shown
        assert re.findall(r"(?:^|, )(\w+)", re.sub(r"\[[^]]*\]+", "", shown[1])) == names


def test_languages_are_what_they_say(exercise: Exercise) -> None:
    texts = [exercise.title, *(rule.text for rule in exercise.rules), *exercise.hints]
    texts += [{"zh": group.zh, "en": group.en} for group in exercise.hidden.groups]
    texts += [{"zh": mutant.zh, "en": mutant.en} for mutant in exercise.hidden.mutants]
    for text in texts:
        assert HAN.search(text["zh"]) and not HAN.search(text["en"])
        assert not re.search(r"[一-鿿][,;:?!]|[,;?!][一-鿿]", text["zh"]), "half-width punctuation"
        assert "您" not in text["zh"]
    assert not HAN.search(exercise.statement("en"))
    assert len(exercise.hints) == 3


def test_samples_are_titled_in_both_languages(exercise: Exercise) -> None:
    tree = ast.parse(exercise.samples)
    tests = [
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]
    assert 3 <= len(tests) <= 6
    for test in tests:
        zh, en = inspect.cleandoc(ast.get_docstring(test) or "").split("\n")
        assert HAN.search(zh) and not HAN.search(en)
    messages = [node.msg for node in ast.walk(tree) if isinstance(node, ast.Assert)]
    for message in messages:
        assert isinstance(message, ast.Constant)
        zh, en = message.value.split("\n")
        assert HAN.search(zh) and not HAN.search(en)


def test_samples_pass_on_the_reference_and_fail_on_the_starter(exercise: Exercise) -> None:
    names: dict[str, object] = {}
    exec(compile(exercise.samples, "samples.py", "exec"), names)
    samples = [value for name, value in names.items() if name.startswith("test_") and callable(value)]
    for source, passes in ((exercise.solution, True), (starter(exercise, "en"), False)):
        module: dict[str, object] = {}
        exec(compile(source, "submission.py", "exec"), module)
        for sample in samples:
            if passes:
                sample(module[exercise.name])
            else:
                with pytest.raises((NotImplementedError, AssertionError)):
                    sample(module[exercise.name])


def test_solution_is_short(exercise: Exercise) -> None:
    """At most 30 lines of code, docstring and comments not counted."""
    tree = ast.parse(solution_text(exercise))
    node = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == exercise.name)
    if ast.get_docstring(node):
        node.body = node.body[1:]
    assert len(ast.unparse(node).splitlines()) <= 30
