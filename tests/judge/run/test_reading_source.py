"""What can be told without running a file: one clear message, and the line."""

from __future__ import annotations

import resource

import pytest
import toy

from judge.source import CannotJudge, parameters, read_source, signature

GOOD = "def double_all(numbers):\n    return [2 * n for n in numbers]\n"

ACCEPTED = {
    "as it is": GOOD.encode(),
    "byte order mark": b"\xef\xbb\xbf" + GOOD.encode(),
    "CRLF": GOOD.replace("\n", "\r\n").encode(),
    "CR": GOOD.replace("\n", "\r").encode(),
    "no newline at the end": GOOD.rstrip().encode(),
    "helpers and imports": b"import math\nHELP = 1\n" + GOOD.encode(),
    "another parameter with a default": b"def double_all(numbers, more=1): return numbers\n",
    "annotations": b"def double_all(numbers: 'list[int]') -> list: return numbers\n",
    "star": b"def double_all(*args): return args\n",
    "everything": b"def double_all(*args, **kwargs): return args\n",
    "by assignment": b"double_all = lambda numbers: numbers\n",
    "by import": b"from math import floor as double_all\n",
    "by star import": b"from math import *\n",
    "under an if": b"if True:\n    def double_all(numbers): return numbers\n",
    "under a try": b"try:\n    1\nexcept KeyError:\n    2\nelse:\n    def double_all(numbers): return 1\n",
    "the last definition counts": b"class double_all: pass\n" + GOOD.encode(),
    "one of two definitions": b"if 1:\n  def double_all(numbers): pass\nelse:\n  def double_all(): pass\n",
    "a chain of elif": GOOD.encode() + b"if 0: 0\n" + b"elif 0: 0\n" * 2000,
    "non-ASCII": "def double_all(numbers):\n    名 = numbers\n    return 名\n".encode(),
}

REFUSED = {
    "empty": (b"", None, "has no code"),
    "blank": (b"\n  \n\t\n", None, "has no code"),
    "comments": (b"# nothing\n", None, "has no code"),
    "only a byte order mark": (b"\xef\xbb\xbf", None, "has no code"),
    "not UTF-8": (b"x = 1\ny = '\xff'\n", 2, "line 2 is not UTF-8"),
    "UTF-16": (GOOD.encode("utf-16"), 1, "line 1 is not UTF-8"),
    "NUL": (b"x = 1\n\0\n", 2, "line 2 has a NUL character"),
    "open bracket": (b"def double_all(numbers:\n    pass\n", 1, "line 1 does not parse, `(` is never closed"),
    "closing bracket": (b"x = 1)\n", 1, "`)` has no partner"),
    "wrong bracket": (b"x = (1]\n", 1, "`]` has no partner"),
    "colon": (b"def double_all(numbers)\n    pass\n", 1, "a colon is missing"),
    "indentation": (b"def double_all(numbers):\npass\n", 2, "the indentation is wrong"),
    "tabs": (b"if 1:\n\tx = 1\n        y = 2\n", 3, "tabs and spaces"),
    "string": (b"x = 'abc\n", 1, "a string is never closed"),
    "full-width": ("x = 1，2\n".encode(), 1, "a character that Python does not know"),
    "word": (b"x = 1 2\n", 1, "Python says"),
    "newer syntax": (b"type X = int\n", 1, "does not parse"),
    "nested": (b"x = " + b"-" * 60000 + b"1\n", None, "nested too deeply"),
    "attribute chain": (b"x = a" + b".b" * 20000 + b"\n", None, "nested too deeply"),
    "missing": (b"def double(numbers): pass\n", None, "`double_all` is not defined"),
    "only in a class": (b"class A:\n    def double_all(self, numbers): pass\n", None, "is not defined"),
    "only in a function": (b"def f():\n    def double_all(numbers): pass\n", None, "is not defined"),
    "class": (b"\nclass double_all: pass\n", 2, "`double_all` in line 2 is not a function"),
    "coroutine": (b"async def double_all(numbers): pass\n", 1, "is not a function"),
    "no parameter": (b"def double_all(): pass\n", 1, "`double_all(numbers)`"),
    "another name": (b"def double_all(values): pass\n", 1, "`double_all(numbers)`"),
    "one more": (b"def double_all(numbers, more): pass\n", 1, "`double_all(numbers)`"),
    "a keyword more": (b"def double_all(numbers, *, more): pass\n", 1, "`double_all(numbers)`"),
    "keyword only": (b"def double_all(*, numbers): pass\n", 1, "`double_all(numbers)`"),
    "nested too deeply": (b"x = " + b"-" * 60_000 + b"1", None, "nested too deeply"),
    "an endless dotted name": (b"import " + b"a." * 30_000 + b"a", None, "nested too deeply"),
    "dots on many lines": (("import " + "a·.\\\n" * 5_000 + "a").encode(), None, "nested too deeply"),
    "too large": (b"#" * (64 * 1024 + 1), None, "over 64 kB"),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_accepted(make_toy, name):
    text = read_source(make_toy(), ACCEPTED[name])
    assert "\r" not in text and not text.startswith("\ufeff")


@pytest.mark.parametrize("name", REFUSED)
def test_refused(make_toy, name):
    raw, line, words = REFUSED[name]
    with pytest.raises(CannotJudge) as error:
        read_source(make_toy(), raw)
    assert words in error.value.text["en"]
    assert error.value.line == line
    assert error.value.text["en"].endswith("ot counted.") and error.value.text["zh"].endswith("。")


def test_a_long_name_costs_no_memory(make_toy):
    """Python's parser would keep every beginning of it: a gigabyte."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CannotJudge):
        read_source(make_toy(), b"import " + b"a." * 32_000 + b"a")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


KEYWORDS = "def double_all(self, numbers, /, base=2, *, finished, deep=False):\n    return numbers\n"


@pytest.mark.parametrize(
    ("code", "fits"),
    [
        ("def double_all(self, numbers, base=2, *, finished, deep=False): pass", True),
        ("def double_all(self, numbers, base=3, finished=None, deep=1): pass", True),
        ("def double_all(self, numbers, base=2, **more): pass", True),
        ("def double_all(self, numbers, base, *, finished, deep=False): pass", False),
        ("def double_all(self, numbers, base=2, *, finished, deep): pass", False),
        ("def double_all(self, numbers, base=2, *, finish, deep=False): pass", False),
        ("def double_all(self, numbers, *, finished, deep=False): pass", False),
    ],
)
def test_every_call_of_the_statement_must_be_possible(make_toy, code, fits):
    exercise = make_toy(solution=KEYWORDS)
    if fits:
        read_source(exercise, code.encode())
        return
    with pytest.raises(CannotJudge) as error:
        read_source(exercise, code.encode())
    assert "double_all(self, numbers, /, base=2, *, finished, deep=False)" in error.value.text["en"]


def test_the_sandbox_gets_the_same_parameters(make_toy):
    exercise = make_toy(solution=KEYWORDS)
    assert [(p.name, p.kind, p.default) for p in parameters(exercise)] == [
        ("self", "POSITIONAL_ONLY", False),
        ("numbers", "POSITIONAL_OR_KEYWORD", False),
        ("base", "POSITIONAL_OR_KEYWORD", True),
        ("finished", "KEYWORD_ONLY", False),
        ("deep", "KEYWORD_ONLY", True),
    ]
    assert signature(exercise) == "double_all(self, numbers, /, base=2, *, finished, deep=False)"


CLASS_TOML = toy.TOML.replace('target = "double_all"', 'target = "Doubler"')
CLASS = """\
class Doubler:
    def __init__(self, n): pass
    def double(self, x): pass
    def _own(self): pass
"""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (CLASS, None),
        ("class Doubler(Base):\n    pass\n", None),
        ("class Doubler:\n    def __init__(self, n): pass\n    double = len\n", None),
        ("def Doubler(n): pass\n", "`Doubler` in line 1 is not a class"),
        ("class Doubler:\n    def __init__(self, n): pass\n", "`Doubler.double` is not defined"),
        (
            "class Doubler:\n    def __init__(self): pass\n    def double(self, x): pass\n",
            "__init__(self, n)",
        ),
    ],
)
def test_classes(make_toy, code, words):
    exercise = make_toy(toml=CLASS_TOML, solution=CLASS)
    assert exercise.kind == "class" and parameters(exercise) is None
    if words is None:
        read_source(exercise, code.encode())
    else:
        with pytest.raises(CannotJudge) as error:
            read_source(exercise, code.encode())
        assert words in error.value.text["en"]
