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


def definitions(exercise: Exercise) -> list[ast.FunctionDef]:
    """The reference's function, or the methods of its class."""
    for node in ast.parse(solution_text(exercise)).body:
        if isinstance(node, ast.ClassDef) and node.name == exercise.name:
            return [method for method in node.body if isinstance(method, ast.FunctionDef)]
        if isinstance(node, ast.FunctionDef) and node.name == exercise.name:
            return [node]
    raise AssertionError(f"the solution of {exercise.key} does not define {exercise.name}")


def parameters(node: ast.FunctionDef) -> list[str]:
    return [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]


def test_signature_is_the_references(exercise: Exercise) -> None:
    """The statement shows the signatures that the reference has."""
    for node in definitions(exercise):
        for lang in ("zh", "en"):
            shown = re.search(rf"def {node.name}\(.*?\)(?= ->)", exercise.statement(lang), re.S)
            assert shown
            written = ast.parse(f"{shown[0]}: ...").body[0]
            assert isinstance(written, ast.FunctionDef) and parameters(written) == parameters(node)


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
    for sample in samples:
        sample(defined(exercise, exercise.solution))
    failed = []
    for sample in samples:
        try:
            sample(defined(exercise, starter(exercise, "en")))
        except (NotImplementedError, AssertionError):
            failed.append(sample)
    # what a find-the-bug exercise starts from is right in part
    assert failed if exercise.form == "find_the_bug" else failed == samples


def defined(exercise: Exercise, source: str) -> object:
    module: dict[str, object] = {}
    exec(compile(source, "submission.py", "exec"), module)
    return module[exercise.name]


def test_solution_is_short(exercise: Exercise) -> None:
    """At most 30 lines of code, docstrings and comments not counted."""
    lines = 0
    for node in definitions(exercise):
        if ast.get_docstring(node):
            node.body = node.body[1:]
        lines += len(ast.unparse(node).splitlines())
    assert lines <= 30
