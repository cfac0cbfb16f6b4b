"""A submission gets one result, in the words of the look, whatever it does."""

from __future__ import annotations

import json
import logging
import re

import pytest
import toy

from judge.harness.diagnosis import mutant_source
from judge.run import judge_submission
from judge.sandbox import Pool, Stopped, Usage
from judge.types import Event, RunResult, Verdict

GOOD = """\
def double_all(numbers):
    if any(number < 0 for number in numbers):
        raise ValueError("negative")
    return [2 * number for number in numbers]
"""
DIRECT = toy.HIDDEN.replace("io.attempt(target, numbers)", '{"value": target(numbers)}').replace(
    'yield Case("negative", {"numbers": [rng.randrange(100), -1 - rng.randrange(1000)]})',
    'yield Case("negative", {"numbers": [8]})',
)


def judged(exercise, code: str, pool: Pool, **options) -> RunResult:
    return judge_submission(exercise, code.encode(), pool=pool, seed=b"seed", **options)


def test_accepted(make_toy, pool):
    result = judged(make_toy(), GOOD, pool)
    assert result.message == {
        "zh": "通过。单元测试 4 / 4。",
        "en": "Accepted. 4 of 4 unit tests.",
    }
    assert (result.verdict, result.score, result.engine, result.diagnosis) == (Verdict.AC, 1.0, None, None)
    assert [(group.name, group.passed, group.total) for group in result.groups] == [
        ("some", 3, 3),
        ("negative", 1, 1),
    ]
    assert [sample.ok for sample in result.samples] == [True, True]
    assert result.samples[0].title == {"zh": "三个数", "en": "Three numbers"}
    assert result.isolation == pool.isolation and result.seconds > 0


def test_wrong_in_one_group(make_toy, pool):
    result = judged(make_toy(), GOOD.replace("ValueError", "IndexError"), pool)
    assert result.message == {
        "zh": "答案错误，第 2 组。这个输入应当抛出 ValueError，得到的是 IndexError。",
        "en": "Wrong answer, group 2. This input is to raise ValueError; what came is IndexError.",
    }
    assert (result.verdict, result.score, result.rule) == (Verdict.WA, 0.25, 2)
    assert result.diagnosis is not None and result.diagnosis.letter == "b"
    assert [group.verdict for group in result.groups] == [Verdict.AC, Verdict.WA]


def test_a_failed_sample_explains_itself(make_toy, pool):
    code = GOOD.replace("2 *", "3 *").replace("    return", '    print("seen", numbers)\n    return')
    result = judged(make_toy(), code, pool)
    first, second = result.samples
    assert (first.ok, first.line, first.expected, first.got) == (False, 4, "[2, 4, 6]", "[3, 6, 9]")
    assert "target([1, 2, 3]) == [2, 4, 6]" in first.assertion
    assert first.message == {"zh": "每个数都要加倍。", "en": "Each number is doubled."}
    assert first.stdout == "seen [1, 2, 3]\n" and second.ok
    assert result.diagnosis is not None and result.diagnosis.letter == "a"


def test_samples_alone(make_toy, pool):
    exercise = make_toy()
    result = judged(exercise, GOOD, pool, samples_only=True)
    assert (result.verdict, result.score, result.groups) == (Verdict.AC, 1.0, [])
    assert result.message["en"] == "All samples pass: 2 of 2."
    result = judged(exercise, GOOD.replace("2 *", "3 *"), pool, samples_only=True)
    assert (result.verdict, result.score) == (Verdict.WA, 0.5)
    assert result.message["zh"] == "2 个样例里有 1 个没过，先看“三个数”。"


def test_an_exception_in_a_sample_names_the_learners_line(make_toy, pool):
    code = "def double_all(numbers):\n    return numbers[7]\n"
    result = judged(make_toy(), code, pool, samples_only=True)
    assert result.samples[0].message["zh"].startswith("第 2 行：IndexError")


def test_runtime_error(make_toy, pool):
    result = judged(make_toy(hidden=DIRECT), "def double_all(numbers):\n    return numbers[8]\n", pool)
    assert result.message == {
        "zh": "运行出错，第 1 组：第 2 行 IndexError。",
        "en": "Runtime error, group 1: IndexError in line 2.",
    }
    assert (result.verdict, result.line) == (Verdict.RE, 2)


def test_the_starter_is_told_as_unwritten(make_toy, pool):
    code = "def double_all(numbers):\n    raise NotImplementedError\n"
    result = judged(make_toy(), code, pool)
    assert result.message["zh"] == "运行出错，第 1 组：第 2 行还没有写（NotImplementedError）。"
    assert result.score == 0.0


SMUGGLERS = {
    "exception message": "raise KeyError(str(numbers))",
    "exception class": "raise type('x'.join(map(str, numbers)), (Exception,), {})()",
    "print": "print(numbers); raise KeyError",
    "exit message": "import sys; sys.exit(str(numbers))",
    "returned text": "return str(numbers)",
}


@pytest.mark.parametrize("name", SMUGGLERS)
def test_no_message_tells_a_hidden_input(make_toy, pool, name):
    exercise = make_toy(hidden=DIRECT)
    events: list[Event] = []
    code = (
        "def double_all(numbers):\n"
        "    if len(numbers) in (0, 3): return [2 * n for n in numbers]\n"
        f"    {SMUGGLERS[name]}\n"
    )
    result = judged(exercise, code, pool, on_event=events.append)
    assert result.verdict in (Verdict.RE, Verdict.WA)
    said = json.dumps([result.to_json(trace=True), [event.data for event in events]])
    for case in exercise.hidden.cases(b"seed".hex()):
        for number in case.data["numbers"]:
            assert not re.search(rf"\b{number}\b", said) or number < 100, said


def test_no_caught_exception_spells_a_hidden_input(make_toy, pool):
    code = "def double_all(numbers):\n    raise type(f'Saw{numbers}', (Exception,), {})()\n"
    result = judged(make_toy(), code, pool)
    assert result.message["en"].endswith("the call raises Exception.")
    hidden = json.dumps([result.message, [group.title for group in result.groups]])
    assert result.verdict is Verdict.WA and "Saw" not in hidden


def test_an_exception_counts_as_the_one_that_it_derives_from(make_toy, pool):
    code = "class Negative(ValueError): pass\n" + GOOD.replace("ValueError(", "Negative(")
    assert judged(make_toy(), code.replace("raise ValueError", "raise Negative"), pool).verdict is Verdict.AC


@pytest.mark.parametrize(
    "name", ["\udcff.py", "a\0b.py", "", "/", "..", "samples.py", "<drive>", "../" * 2000]
)
def test_any_file_name_will_do(make_toy, pool, name):
    assert judged(make_toy(), GOOD, pool, filename=name).verdict is Verdict.AC


@pytest.mark.parametrize("declared", ["gbk", "utf-16", "utf-7", "rot13", "nope"])
def test_a_declared_encoding_changes_nothing(make_toy, pool, declared):
    """What the judge has read as UTF-8 is what runs."""
    code = f"# -*- coding: {declared} -*-\n# 加倍\n{GOOD}"
    assert judged(make_toy(), code, pool).verdict is Verdict.AC


STOPPED = {
    "endless": ("while True: pass", Verdict.TLE, "Time limit, group 1: stopped after "),
    "flood": ("print('x' * (1 << 20))", Verdict.OLE, "Output limit, group 1"),
    "exit": ("import os; os._exit(0)", Verdict.RE, "the process exits before its end"),
}


@pytest.mark.parametrize("name", STOPPED)
def test_stopped_in_a_case(make_toy, pool, name):
    action, verdict, words = STOPPED[name]
    code = GOOD.replace("    return", f"    if len(numbers) not in (0, 3):\n        {action}\n    return")
    result = judged(make_toy(), code, pool)
    assert result.verdict is verdict
    assert words in result.message["en"]
    assert [group.verdict for group in result.groups] == [verdict, None], "what follows does not run"
    assert result.score == 0.0


def test_stopped_in_a_later_group_keeps_the_earlier_ones(make_toy, pool):
    code = GOOD.replace("    if any", "    while any(number < 0 for number in numbers): pass\n    if any")
    result = judged(make_toy(), code, pool)
    assert [group.verdict for group in result.groups] == [Verdict.AC, Verdict.TLE]
    assert result.score == 0.25
    # 1 s of CPU, or 5 s by the clock where the machine is busy
    assert re.fullmatch(r"超时，第 2 组：满 [15]\.00 s 停下。", result.message["zh"])


def test_stopped_in_a_sample(make_toy, pool):
    result = judged(make_toy(), "def double_all(numbers):\n    while True: pass\n", pool)
    assert result.verdict is Verdict.TLE
    assert re.fullmatch(r"Time limit: the samples were stopped after [15]\.00 s\.", result.message["en"])
    assert [group.verdict for group in result.groups] == [None, None]


def test_importing_the_file(make_toy, pool):
    exercise = make_toy()
    result = judged(exercise, "import no_such_module\n" + GOOD, pool)
    assert result.message["en"] == "Runtime error when the file is imported: ModuleNotFoundError in line 1."
    result = judged(exercise, GOOD + "\nwhile True: pass\n", pool)
    assert result.verdict is Verdict.TLE and "import of the file" in result.message["en"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("double_all = 3\n", "`double_all` is not a function"),
        ("double_all = list\n", "`double_all` is not a function"),
        ("double_all = lambda a, b: a\n", "`double_all(numbers)`"),
        ("from math import *\n", "`double_all` is not defined"),
        ("def double_all(numbers):\n", "does not parse"),
    ],
)
def test_what_cannot_be_judged(make_toy, pool, code, words):
    result = judged(make_toy(), code, pool)
    assert result.verdict is Verdict.CE and result.score == 0.0
    assert words in result.message["en"] and result.message["en"].endswith("Not counted.")


def test_the_same_seed_repeats_the_run(make_toy, pool):
    exercise = make_toy(hidden=toy.HIDDEN.replace("io.emit(numbers)", "io.emit(numbers)"))
    seen = []
    original = exercise.hidden.check
    object.__setattr__(exercise.hidden, "check", lambda c, e, g: seen.append(c.data) or original(c, e, g))
    for seed in (b"one", b"one", b"two"):
        judge_submission(exercise, GOOD.encode(), pool=pool, seed=seed)
    assert seen[:4] == seen[4:8] != seen[8:]


def test_progress_is_told_in_order(make_toy, pool):
    events: list[Event] = []
    result = judged(make_toy(), GOOD, pool, on_event=events.append)
    assert [event.type for event in events] == ["running", "group", "group", "verdict"]
    assert events[1].data["number"] == 1 and events[1].data["title"]["en"] == "some numbers"
    assert events[-1].data == result.to_json()
    json.dumps([event.data for event in events])


def test_time_by_size(make_toy, pool):
    hidden = toy.HIDDEN.replace("for _ in range(size)]})", "for _ in range(size)]}, size=size)")
    result = judged(make_toy(hidden=hidden), GOOD, pool)
    assert [row.size for row in result.times] == [1, 2, 5]
    assert all(row.reference >= 0 for row in result.times)


# --- Our own faults ---------------------------------------------------------------------------


def test_a_checker_that_raises_is_our_fault(make_toy, pool, caplog):
    exercise = make_toy(hidden=toy.HIDDEN.replace("text = difference", "text = no_such_name"))
    with caplog.at_level(logging.ERROR):
        result = judged(exercise, GOOD, pool)
    assert (result.verdict, result.score) == (Verdict.SE, 0.0)
    assert result.message["zh"] == "没有判成：是我们的问题。什么都没有计入。"
    assert "no_such_name" in caplog.text and "no_such_name" not in json.dumps(result.to_json())


class Failing:
    """A pool whose box is lost the first ``times`` times."""

    isolation = "failing"

    def __init__(self, pool: Pool, times: int) -> None:
        self.pool, self.times = pool, times

    def box(self, *args, **options):
        if self.times:
            self.times -= 1
            raise Stopped(Verdict.SE, {"reason": "sandbox"}, Usage())
        return self.pool.box(*args, **options)


def test_a_lost_box_is_tried_once_more(make_toy, pool):
    assert judged(make_toy(), GOOD, Failing(pool, 1)).verdict is Verdict.AC


def test_lost_twice_it_is_our_fault(make_toy, pool):
    assert judged(make_toy(), GOOD, Failing(pool, 2)).verdict is Verdict.SE


def test_mutants_of_the_toy(make_toy, pool):
    exercise = make_toy()
    for mutant in exercise.hidden.mutants:
        result = judged(exercise, mutant_source(exercise.hidden, mutant), pool)
        assert result.diagnosis is not None and result.diagnosis.letter == mutant.letter
