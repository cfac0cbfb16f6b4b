"""Wherever a box may be stopped, and by whatever, there are words for it in both languages."""

from __future__ import annotations

import pytest

from judge.engine_result import Malformed, difference, parse_result
from judge.sandbox import Limits, Stopped, Usage
from judge.types import Verdict
from judge.verdict import stop_text

DETAILS = {
    "limit": {"reason": "limit", "limit": "cpu"},
    "wall": {"reason": "limit", "limit": "wall"},
    "exit": {"reason": "exit", "exit": 0},
    "crash": {"reason": "crash", "signal": "SIGSEGV"},
    "forbidden": {"reason": "forbidden", "signal": "SIGSYS"},
    "exception": {"reason": "exception", "name": "KeyError", "message": "'row'", "line": 3},
    "no line": {"reason": "exception", "name": "KeyError", "message": "'row'", "line": None},
    "own class": {"reason": "exception", "name": "Secret12345", "message": "", "line": 3},
}


def said(where, verdict, detail):
    stopped = Stopped(verdict, DETAILS[detail], Usage())
    return stop_text(where, stopped, Limits(cpu_s=2.0, memory_mb=256, wall_s=8.0), group=4)


@pytest.mark.parametrize("where", ["group", "load", "sample", "engine"])
@pytest.mark.parametrize("verdict", [Verdict.RE, Verdict.TLE, Verdict.MLE, Verdict.OLE, Verdict.PE])
def test_there_are_words(where, verdict):
    for detail in DETAILS:
        text = said(where, verdict, detail)
        assert all(text.values()) and not any("{" in word or "12345" in word for word in text.values())


def test_the_words_of_the_look():
    assert said("group", Verdict.TLE, "limit")["zh"] == "超时，第 4 组：满 2.00 s 停下。"
    assert said("group", Verdict.TLE, "wall")["en"] == "Time limit, group 4: stopped after 8.00 s."
    assert said("group", Verdict.MLE, "limit") == {
        "zh": "超内存，第 4 组：超过 256 MB。",
        "en": "Memory limit, group 4: over 256 MB.",
    }
    assert said("group", Verdict.RE, "exception")["zh"] == "运行出错，第 4 组：第 3 行 KeyError。"
    assert "SIGSEGV" in said("group", Verdict.RE, "crash")["en"]
    assert "sandbox does not allow" in said("group", Verdict.RE, "forbidden")["en"]


def test_the_message_of_an_exception_is_said_in_the_engine_alone():
    assert "'row'" in said("engine", Verdict.RE, "exception")["en"]
    assert "'row'" not in said("group", Verdict.RE, "exception")["en"]


def test_an_answer_to_another_job_is_malformed():
    answer = {
        "tokens": [[[1]]], "margin": 1.0, "schedule": [], "admitted": [], "evicted": [], "integrity": "",
        "pages": {"total": 0, "free": [], "cached": []}, "left": [0, 0],
        "setup": {"device": "", "dtype": "", "prefill": "", "decode": "", "graphs": [], "overlap": False},
    }  # fmt: skip
    one, two = parse_result(answer), parse_result({**answer, "tokens": [[[1], [2]]]})
    with pytest.raises(Malformed):
        difference(one, two, 1)
    assert difference(one, one, 1) is None
    shorter = difference(one, parse_result({**answer, "tokens": [[[]]]}), 1)
    assert shorter["en"] == "Unit tests accepted. In the engine, r0 writes 0 tokens instead of 1."
