"""A learner's own run without the engine's call: what it shows, and what hostile code can do to it."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "web" / "judge_runner"))

from judge_runner import interrupts, tab
from judge_runner.clean_slate import CleanSlate

from judge.exercises import Exercise, find, load_exercises
from judge.harness.diagnosis import mutant_source
from judge.solution import solution_text
from judge.source import interface
from judge.starter import starter
from minisgl.utils import trace
from tools.site.data import PROMPTS, own_run_of

SCHEMA = jsonschema.Draft202012Validator(json.loads(trace.SCHEMA_PATH.read_text(encoding="utf-8")))
PLAYED = [one for one in load_exercises().values() if one.own_run is not None]
POOL = find("178")
FOOTPRINT = find("177")


@pytest.fixture(autouse=True)
def interpreter(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tab takes interrupts for itself, and puts the interpreter back as it was: here before the test."""
    monkeypatch.setattr(tab, "_slate", CleanSlate())
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGINT, before[0])
    signal.signal(signal.SIGALRM, before[1])


def play(exercise: Exercise, code: str, lang: str = "en", *, stop: bool = False) -> dict[str, Any]:
    """The report as the page gets it. ``stop``: the page interrupts 0.3 s after the code has begun."""

    def emit(kind: str, data: str) -> None:
        if stop and kind == "begun":
            signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
            signal.setitimer(signal.ITIMER_REAL, 0.3)

    spec = {
        "slug": exercise.slug,
        "target": exercise.target,
        "place": exercise.place,
        "members": list(exercise.members),
        "interface": interface(exercise),
        "ownRun": own_run_of(exercise),
    }
    prompts = list(exercise.engine_text.get(lang) or PROMPTS[lang])
    args = {"exercise": spec, "code": code, "prompts": prompts, "maxTokens": 12, "trace": True}
    report: dict[str, Any] = json.loads(tab.call("generate", json.dumps(args), emit))
    for seq, event in enumerate(report["trace"]):
        SCHEMA.validate(event)
        assert event["seq"] == seq
    return report


def pool_with(method: str) -> str:
    """The reference of 178, with one method in place of its own."""
    return solution_text(POOL) + "\n\n" + f"class Own(BlockPool):\n{method}\n\n\nBlockPool = Own\n"


def test_exercises_that_have_an_own_run() -> None:
    assert [one.id for one in PLAYED] == [177, 178]
    assert own_run_of(FOOTPRINT)["engine"] and not own_run_of(POOL)["engine"]  # type: ignore[index]
    assert own_run_of(find("176")) is None


@pytest.mark.parametrize("exercise", PLAYED, ids=lambda one: one.key)
def test_wrong_code_makes_a_report(exercise: Exercise) -> None:
    """The starter and every mutant: a trace that is valid, and words where it was cut short."""
    report = play(exercise, starter(exercise, "en"))
    assert "is not written yet" in report["error"]["message"]["en"] and report["error"]["line"]
    for mutant in exercise.hidden.mutants:
        report = play(exercise, mutant_source(exercise.hidden, mutant))
        assert report["trace"] and report["cannot"] is None and report["stopped"] is None


def test_the_pool_plays_to_its_end() -> None:
    report = play(POOL, solution_text(POOL))
    assert (report["error"], report["stopped"], report["cannot"]) == (None, None, None)
    ops = [event["op"] for event in report["trace"]]
    assert set(ops) == {"new", "allocate", "publish", "lookup", "touch", "free"} and len(ops) == 18
    assert [event["raised"] for event in report["trace"] if "raised" in event] == ["RuntimeError"]
    lines = solution_text(POOL).splitlines()
    assert all(f"def {e['op']}(" in lines[e["line"] - 1] for e in report["trace"] if e["op"] != "new")


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_a_footprint_equals_a_count_of_slots(lang: str) -> None:
    """After each batch, by another way: which slots hold a token, and which pages they lie in."""
    report = play(FOOTPRINT, solution_text(FOOTPRINT), lang)
    assert (report["error"], report["stopped"], report["cannot"]) == (None, None, None)
    size, rows, computed, counts = 4, {}, {}, []
    for event in report["trace"]:
        req = event.get("req")
        if event["type"] == "admitted":
            rows[req], computed[req] = {}, event["cached_len"]
        elif event["type"] == "page_table_write":
            rows[req].update(enumerate(event["locations"], event["start"]))
        elif event["type"] == "batch":
            for uid, tokens in zip(event["uids"], event["tokens"], strict=True):
                computed[uid] += tokens
        elif event["type"] == "finished":
            del rows[req], computed[req]
        elif event["type"] == "footprint":
            held = [{row[at] for at in range(computed[uid])} for uid, row in rows.items()]
            slots = set().union(*held)
            pages = {slot // size for slot in slots}
            logical = sum(len({slot // size for slot in one}) for one in held)
            counts.append(event["result"]["saved_bytes"])
            assert event["result"] == {
                "logical_blocks": logical,
                "physical_blocks": len(pages),
                "tail_waste": len(pages) * size - len(slots),
                "saved_bytes": (logical - len(pages)) * size * BYTES,
            }
            assert "def kv_footprint(" in solution_text(FOOTPRINT).splitlines()[event["line"] - 1]
    batches = [event for event in report["trace"] if event["type"] == "batch"]
    assert len(counts) == len(batches) > 10
    assert counts[0] == 0, "both compute their own"
    assert max(counts) == 2 * size * BYTES, "and then two pages are the same"


BYTES = 4 * 2 * 7 * 2 * 64
"""Of a token in the bundled model: float32, K and V, layers, heads, head dimension."""

ODD = {
    "html": '    def allocate(self): return "<img src=x onerror=alert(1)>"',
    "long text": "    def allocate(self): return 'x' * 10**6",
    "huge number": "    def allocate(self): return 10**5000",
    "no number": "    def allocate(self): return float('nan')",
    "half a character": "    def allocate(self): return '\\ud800'",
    "hostile": """    def allocate(self):
        class Odd(type):
            __name__ = property(lambda self: 1 / 0)
        class Value(list, metaclass=Odd):
            def __repr__(self): raise SystemExit
            __str__ = __iter__ = __len__ = __eq__ = __repr__
            __class__ = property(__repr__)
            __hash__ = None
        return Value()""",
    "long queue": "    def allocate(self): self.queue = [0] * 10**6; return 0",
    "deep queue": "    def allocate(self): self.queue = [[[[0]]]] * 900; return 0",
    "a queue that holds itself": "    def allocate(self): self.queue.append(self.queue); return 0",
    "no lists": "    def allocate(self): self.queue = self.ref = None; return 0",
    "no attributes": "    def allocate(self): del self.queue, self.ref; return 0",
}


@pytest.mark.parametrize("method", ODD.values(), ids=ODD.keys())
def test_whatever_comes_back_is_bounded(method: str) -> None:
    report = play(POOL, pool_with(method))
    assert report["trace"] and report["stopped"] is None
    assert len(json.dumps(report)) < 60_000


def test_an_exception_is_told_with_its_line() -> None:
    code = pool_with("    def touch(self, block):\n        raise KeyError(block)")
    report = play(POOL, code)
    assert code.splitlines()[report["error"]["line"] - 1].strip() == "raise KeyError(block)"
    assert "KeyError" in report["error"]["message"]["zh"]
    last = report["trace"][-1]
    assert (last["op"], last["raised"]) == ("touch", "KeyError") and "result" not in last
    assert code.splitlines()[last["line"] - 1].strip().startswith("def touch")


SWALLOWS = """try:
                while True: x = 1
            except BaseException: return 0"""


def test_much_output_is_stopped() -> None:
    report = play(POOL, pool_with("    def lookup(self, key):\n        print('x' * 10**7)\n        return 0"))
    assert report["stopped"]["why"] == "output" and len(report["trace"]) == 8


@pytest.mark.parametrize("body", ["x = 1", SWALLOWS], ids=["plain", "swallows"])
def test_an_endless_loop_is_stopped_and_what_was_before_is_kept(body: str) -> None:
    code = pool_with(f"    def lookup(self, key):\n        while True:\n            {body}")
    report = play(POOL, code, stop=True)
    assert report["stopped"]["why"] == "interrupt" and len(report["trace"]) in (8, 9)
    assert interrupts.was_asked()


def test_what_does_not_parse_is_no_run() -> None:
    report = play(POOL, "class BlockPool:\n    def (")
    assert report["cannot"]["kind"] == "syntax" and report["trace"] == []


@pytest.mark.parametrize("result", ["None", "{'logical_blocks': 1}", "[1] * 10**7", "{0: 0}"])
def test_a_footprint_that_is_none_is_passed_on_small(result: str) -> None:
    code = f"def kv_footprint(tables, lengths, block_size, bytes_per_token):\n    return {result}\n"
    report = play(FOOTPRINT, code)
    assert report["error"] is None
    assert all(len(json.dumps(e)) < 200 for e in report["trace"] if e["type"] == "footprint")
