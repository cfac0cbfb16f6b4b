"""Exercises that ask for tests: what learners' tests meet, and that nothing but tests earns points there."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from judge.exercises import find
from judge.run import judge_submission
from judge.sandbox import Pool
from judge.types import Event, RunResult, Verdict
from minisgl.kvcache.radix_cache import RadixPrefixCache

CACHE_TESTS = find("198")


@pytest.fixture(scope="module")
def boxes() -> Iterator[Pool]:
    with Pool(slots=1) as shared:
        yield shared


def judged(boxes: Pool, code: str, seed: bytes = b"planted" * 5) -> RunResult:
    return judge_submission(CACHE_TESTS, code.encode(), pool=boxes, seed=seed)


def hidden_module() -> Any:
    assert CACHE_TESTS.hidden.planted
    return sys.modules[f"_judge_hidden_{CACHE_TESTS.key}"]


LOOKS = CACHE_TESTS.solution.replace("def check(", "def looked(")
"""The instructor's tests as `looked`, to which a check of another kind is added."""


@pytest.mark.parametrize(
    ("code", "score", "spared"),
    [
        # counts how often it has been called, in its module and where the whole process can see it
        (
            "import builtins\nn = 0\ndef check(make):\n    global n\n    n += 1\n"
            "    builtins.seen = getattr(builtins, 'seen', 0) + 1\n    assert max(n, builtins.seen) < 3\n",
            0.0,
            True,
        ),
        # keeps what it has seen, to reject what is not like the first one
        (
            "import os, pickle\ndef check(make):\n    got = repr(make(1).sizes())\n"
            "    if os.path.exists('seen'):\n        assert open('seen').read() == got\n"
            "    try:\n        open('seen', 'w').write(got)\n    except OSError:\n        pass\n",
            0.0,
            True,
        ),
        # guesses, having seen nothing
        ("def check(make):\n    assert id(make) % 7 == 99\n", 0.0, False),
        # sees everything, and rejects all the same
        (LOOKS + "\ndef check(make):\n    looked(make)\n    raise ValueError\n", 0.0, False),
        # asks the judge instead of the cache
        (
            "def check(make):\n    io = make.__closure__[1].cell_contents\n"
            "    for name in ('report', '_bug', '_differs', 'twin'):\n"
            "        try:\n            io.call(name)\n        except Exception:\n            pass\n",
            0.0,
            False,
        ),
        # finds five of six
        (LOOKS.replace("        locations_stay,\n", "") + "\ncheck = looked\n", 5 / 6, True),
        # any exception counts, and what is returned does not
        (
            LOOKS + "\ndef check(make):\n    try:\n        looked(make)\n"
            "    except AssertionError:\n        raise KeyError\n    return False\n",
            1.0,
            True,
        ),
    ],
)  # fmt: skip
def test_what_earns_points(boxes: Pool, code: str, score: float, spared: bool) -> None:
    result = judged(boxes, code)
    assert result.score == pytest.approx(score, abs=1e-4)
    assert (result.groups[0].verdict is Verdict.AC) is spared
    assert (result.verdict is Verdict.AC) is (score == 1.0)


def test_where_the_right_one_is_rejected_the_line_is_told(boxes: Pool) -> None:
    result = judged(boxes, "def check(make):\n    cache = make(1)\n    assert cache.sizes() == (1, 0)\n")
    assert result.rule == 1 and result.line == 3
    assert "line 3" in result.message["en"] and "第 3 行" in result.message["zh"]
    assert [group.score for group in result.groups] == [0.0] * 7


def test_in_the_samples_too_the_line_is_told(boxes: Pool) -> None:
    code = "def check(make):\n    cache = make(1)\n    assert cache.sizes() == (1, 0), 'so'\n"
    first = judged(boxes, code).samples[0]
    assert not first.ok and first.message["en"] == "line 3: AssertionError: so"


def test_what_lives_is_told_once_with_what_would_find_it(boxes: Pool) -> None:
    result = judged(boxes, LOOKS.replace("        everything_can_go,\n", "") + "\ncheck = looked\n")
    told = next(one for one in CACHE_TESTS.hidden.planted if one.letter == "f")
    assert result.diagnosis is not None and (result.diagnosis.zh, result.diagnosis.en) == (told.zh, told.en)
    assert told.en not in result.message["en"] and "not found" in result.message["en"]


def test_where_two_live_the_first_is_told(boxes: Pool) -> None:
    code = LOOKS.replace("        everything_can_go,\n", "").replace("        locations_stay,\n", "")
    result = judged(boxes, code + "\ncheck = looked\n")
    told = next(one for one in CACHE_TESTS.hidden.planted if one.letter == "e")
    assert result.diagnosis is None
    assert told.en in result.message["en"] and told.zh in result.message["zh"]


def test_the_order_is_drawn_and_groups_are_told_in_theirs(boxes: Pool, monkeypatch: Any) -> None:
    met: list[str] = []
    bench = hidden_module().Bench

    def trusted(case: Any) -> Any:
        met.append(case.outside)
        return bench(case)

    monkeypatch.setattr(CACHE_TESTS.hidden.__class__, "trusted", lambda self, case: trusted(case))
    orders = set()
    for seed in (b"one" * 9, b"two" * 9, b"three" * 9):
        events: list[Event] = []
        met.clear()
        code = "def check(make):\n    make(1)\n"
        judge_submission(CACHE_TESTS, code.encode(), pool=boxes, seed=seed, on_event=events.append)
        names = [event.data["name"] for event in events if event.type == "group"]
        assert names == [group.name for group in CACHE_TESTS.hidden.groups]
        theirs = met[8:16]  # after the reference's, before those of the diagnosis
        orders.add(tuple(theirs))
        assert sorted(theirs) == ["", "", "a", "b", "c", "d", "e", "f"]
    assert len(orders) == 3


def test_too_many_calls_and_endless_tests(boxes: Pool) -> None:
    """Only where the samples' cache has no limit of its own does it come to this."""
    right = "from minisgl.kvcache.radix_cache import RadixPrefixCache\n"
    code = right + "def check(make):\n    for _ in range(501):\n        make(1)\n"
    result = judged(boxes, code)
    assert (result.verdict, result.rule, result.score) == (Verdict.WA, 4, 0.0)
    code = "def check(make):\n    while make.__name__ == 'make':\n        pass\n"
    result = judged(boxes, code)
    assert result.verdict is Verdict.TLE and result.score == 0.0


def test_the_right_cache_is_the_engines() -> None:
    """The same answers on scripts of insertions, matches, locks and evictions."""
    rng = random.Random(198)
    for page_size in (1, 2, 4):
        for _ in range(40):
            compare(rng, page_size)


def compare(rng: random.Random, page_size: int) -> None:
    mine, right = hidden_module().Tree(page_size), RadixPrefixCache(torch.device("cpu"), page_size)
    locked: list[tuple[Any, Any]] = []

    def int32(numbers: list[int]) -> torch.Tensor:
        return torch.tensor(numbers, dtype=torch.int32)

    for step in range(30):
        ids = [rng.randrange(3) for _ in range(rng.randrange(1, 14))]
        what = rng.choice(("insert", "match", "lock", "unlock", "evict"))
        if what == "insert":
            places = [100 * step + place for place in range(len(ids))]
            held, handle = mine.insert(ids, places)
            due = right.insert_prefix(int32(ids), int32(places))
            assert held == due.cached_len
            assert mine.indices(handle) == due.handle.get_matched_indices().tolist()
        elif what in ("match", "lock"):
            held, handle = mine.match(ids)
            twin = right.match_prefix(int32(ids)).cuda_handle
            assert held == twin.cached_len and mine.indices(handle) == twin.get_matched_indices().tolist()
            if what == "lock":
                mine.lock(handle)
                right.lock_handle(twin)
                locked.append((handle, twin))
        elif what == "unlock" and locked:
            handle, twin = locked.pop(rng.randrange(len(locked)))
            mine.unlock(handle)
            right.lock_handle(twin, unlock=True)
        elif what == "evict":
            count = rng.randrange(8)
            if count > right.evictable_size:
                with pytest.raises(RuntimeError):
                    mine.evict(count)
            else:
                assert mine.evict(count) == right.evict(count).tolist()
        assert mine.sizes() == tuple(right.size_info)
