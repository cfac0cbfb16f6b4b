"""What the model is taught must be true: sums, primes, capitals, code, and the form of the chats."""

from __future__ import annotations

import io
import json
import re
from contextlib import redirect_stdout
from random import Random

import jinja2
import pytest

from tools.train_tiny.mix import SOURCES, source, written
from tools.train_tiny.records import functions, questions, rows, snippets, terms
from tools.train_tiny.synth_chat import pair, render
from tools.train_tiny.synth_sums import PRIMES, ask_prime, sums
from tools.train_tiny.synth_terms import ask_listed
from tools.train_tiny.tokenizer import CHAT_TEMPLATE, SPECIAL

WRITTEN = [s.name for s in SOURCES if s.write]
_FORMULA = re.compile(r"\b(\d+) ?([-+*/×]) ?(\d+) ?= ?(\d+)\b")


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_sums_are_right(lang: str):
    rng = Random(0)
    found = [m.groups() for _ in range(2000) for m in _FORMULA.finditer(sums(rng, lang))]
    assert len(found) > 3000
    for a, sign, b, c in found:
        x, y = int(a), int(b)
        assert {"+": x + y, "-": x - y, "*": x * y, "×": x * y, "/": x // y if y else None}[sign] == int(c)


def test_every_sum_below_20_occurs():
    rng = Random(0)
    found = {m.group(1, 3) for _ in range(12000) for m in _FORMULA.finditer(sums(rng, "en")) if m[2] == "+"}
    assert {(str(a), str(b)) for a in range(20) for b in range(20)} <= found


def test_primes_are_primes():
    assert PRIMES[:10] == [2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
    rng = Random(0)
    for _ in range(300):
        question, answer = ask_prime(rng, "en")
        n = int(re.findall(r"\d+", question)[0])
        assert answer.startswith("Yes") == (n in PRIMES)
        factors = re.search(r"(\d+) = (\d+) \* (\d+)", answer)
        assert (factors is None) == (n in PRIMES)
        if factors:
            assert int(factors[1]) == int(factors[2]) * int(factors[3])


def test_each_country_and_capital_is_there_once():
    table = rows("countries")
    assert all(len(row) == 6 for row in table)
    for column in range(4):
        assert len({row[column] for row in table}) == len(table)
    known = {row[0]: row[2] for row in table}
    assert known["Australia"] == "Canberra" and known["Turkey"] == "Ankara" and known["Brazil"] == "Brasilia"


@pytest.mark.parametrize("function", functions(), ids=lambda f: f.name)
def test_the_functions_do_what_their_examples_say(function):
    scope: dict[str, object] = {}
    exec("import math\n" + function.source("A docstring."), scope)
    assert function.examples
    for call, result in function.examples:
        assert repr(eval(call, scope)) == result


@pytest.mark.parametrize(
    "snippet", [s for s in snippets() if s.output], ids=lambda s: s.about["en"].replace(" ", "-")
)
def test_the_programs_print_what_they_say(snippet):
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(snippet.source, {"__name__": "__main__"})
    assert printed.getvalue().splitlines() == snippet.output


def test_every_term_is_defined_in_both_languages():
    for term in terms():
        assert term.definitions["en"] and term.definitions["zh"], term.name
        assert term.definitions["en"][0][-1] == "." and term.definitions["zh"][0][-1] == "。"


@pytest.mark.parametrize("name", ["qa_course", "qa_chat"])
def test_every_question_has_an_answer(name: str):
    listed = questions(name)
    assert all(asked and answers for asked, answers in listed)
    rng = Random(0)
    for lang in ("en", "zh"):
        for _ in range(200):
            question, _answer = ask_listed(name, rng, lang)
            assert any("\u4e00" <= c <= "\u9fff" for c in question) == (lang == "zh")


@pytest.mark.parametrize("name", WRITTEN)
def test_a_seed_repeats_its_documents(name: str):
    first = written(name, "seed", 20)
    assert first == written(name, "seed", 20) != written(name, "other", 20)
    assert all(text.strip() for text in first)


def test_a_fetched_source_is_not_written():
    with pytest.raises(ValueError, match="wordnet"):
        written("wordnet", "seed", 1)
    with pytest.raises(KeyError, match="novels"):
        source("novels")


def test_chats_have_the_form_of_the_chat_template():
    messages = [("system", "Be brief."), ("user", "Hi"), ("assistant", "Hello!")]
    template = jinja2.Environment().from_string(json.loads(json.dumps(CHAT_TEMPLATE)))
    given = [{"role": role, "content": text} for role, text in messages]
    assert template.render(messages=given, add_generation_prompt=False) == render(messages)
    asked = template.render(messages=given[:2], add_generation_prompt=True)
    assert asked == render(messages[:2]) + "<|im_start|>assistant\n"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_no_answer_holds_a_special_token(lang: str):
    rng = Random(5)
    for _ in range(1500):
        question, answer = pair(rng, lang)
        assert question.strip() and answer.strip()
        assert not any(token in question + answer for token in SPECIAL)
