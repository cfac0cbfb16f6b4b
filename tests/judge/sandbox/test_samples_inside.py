"""Public samples on their own, without a box: what is said of an exception, and of much output."""

from __future__ import annotations

from judge.sandbox.inside.samples import run


def test_an_exception_without_words_is_its_name_alone() -> None:
    tests = "def test_bare():\n    raise KeyError\n\n\ndef test_words():\n    raise KeyError('key: ')\n"
    assert [one.message for one in run(tests, "samples.py", None)] == ["KeyError", "KeyError: 'key: '"]


def test_output_that_was_cut_says_so() -> None:
    tests = (
        "def test_much():\n    print('x' * 5000)\n    print('y' * 10_000_000)\n    print('z')\n\n\n"
        "def test_little():\n    print('x' * 7999)\n"
    )
    much, little = (one.stdout for one in run(tests, "samples.py", None))
    assert len(much) < 8010 and much.endswith("yyy\n...")
    assert little == "x" * 7999 + "\n", "all of it"
