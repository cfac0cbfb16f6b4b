"""A small exercise in a folder of its own, whole or with one thing wrong."""

from __future__ import annotations

from pathlib import Path

from judge.exercises import Exercise, load_exercise

KEY = "160_double_all"

TOML = """\
id = 160
slug = "double_all"
chapter = "00_tiny_engine"
level = "easy"
points = 5
form = "write"
place = "none"
target = "double_all"
browser = "all"

[title]
zh = "全部加倍"
en = "Double everything"

[limits]
cpu_s = 1

[[rules]]
number = 1
zh = "每个数加倍。"
en = "Each number is doubled."

[[rules]]
number = 2
zh = "负数抛出 ValueError。"
en = "A negative number raises ValueError."

[[hints]]
zh = "一个推导式就够。"
en = "One comprehension will do."
"""

SAMPLES = '''\
def test_three(target):
    """三个数
    Three numbers"""
    assert target([1, 2, 3]) == [2, 4, 6], "每个数都要加倍。\\nEach number is doubled."


def test_none(target):
    """没有数
    No number"""
    assert target([]) == []
'''

SOLUTION = '''\
"""Reference."""


def double_all(numbers: list[int]) -> list[int]:
    """Twice each number."""
    # hint: 先检查 | Check first
    if any(number < 0 for number in numbers):
        raise ValueError("negative")
    return [2 * number for number in numbers]
'''

HIDDEN = '''\
from judge.harness.compare import difference
from judge.types import Broken, Case, Group, Mutant

GROUPS = [Group("some", "几个数", "some numbers"), Group("negative", "负数", "negative numbers", weight=3)]


def cases(rng):
    for size in (1, 2, 5):
        yield Case("some", {"numbers": [rng.randrange(100, 1000) for _ in range(size)]})
    yield Case("negative", {"numbers": [rng.randrange(100), -1 - rng.randrange(1000)]})


def drive(target, case, io):
    numbers = list(case["numbers"])
    io.emit(io.attempt(target, numbers))
    io.emit(numbers)


def check(case, expected, got):
    text = difference(expected, got)
    return None if text is None else Broken(2 if case.group == "negative" else 1, text)


CODE = """
def double_all(numbers):
    if any(number < 0 for number in numbers):
        raise ValueError
    return [2 * number for number in numbers]
"""

MUTANTS = [
    Mutant("a", CODE.replace("2 *", "3 *"), "是两倍，不是三倍。", "Twice, not three times."),
    Mutant("b", CODE.replace("ValueError", "IndexError"), "应抛出 ValueError。", "It must be ValueError."),
    Mutant("c", CODE.replace("2 *", "4 *"), "是两倍，不是四倍。", "Twice, not four times."),
]
'''


def write(root: Path, **changed: str) -> Path:
    """Write the toy; ``changed`` replaces toml, samples, solution, hidden, zh or en. Returns its folder."""
    folder = root / "chapters" / "exercises" / KEY
    folder.mkdir(parents=True)
    files = {
        folder / "exercise.toml": changed.get("toml", TOML),
        folder / "samples.py": changed.get("samples", SAMPLES),
        folder / "zh.md": changed.get("zh", "# 全部加倍\n"),
        folder / "en.md": changed.get("en", "# Double everything\n"),
        root / "solutions" / f"{KEY}.py": changed.get("solution", SOLUTION),
        root / "judge" / "hidden" / f"{KEY}.py": changed.get("hidden", HIDDEN),
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def toy(root: Path, **changed: str) -> Exercise:
    """The toy, written and loaded."""
    return load_exercise(write(root, **changed), root)
