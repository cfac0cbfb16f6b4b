"""Right and wrong functions of a learner in the real engine, and what the animation tells of them."""

from __future__ import annotations

import inspect
import textwrap
from contextlib import suppress
from typing import Any

import pytest
from folding import Fold

from judge import own_run
from judge.exercises import find
from judge.harness.diagnosis import mutant_source
from judge.harness.local import load_target
from judge.hidden_module import load_hidden
from judge.solution import solution_text
from judge.swap.install import install
from minisgl.models.tiny import prompt
from minisgl.scheduler import CacheManager
from minisgl.utils import trace
from tools.record_traces import make_llm, run

FILE = "mine/192_cache_req.py"
SHARED = prompt(0, 12)
ARRIVALS = [
    (0, [*SHARED, *prompt(1, 2)], 6),
    (0, [*SHARED, *prompt(3, 1)], 7),
    (2, [*SHARED[:8], *prompt(2, 9)], 5),
]
CACHE_REQ = find("192")
RADIX_SPLIT = find("196")
BLOCK_POOL = find("178")


def learner_s_run(exercise: Any, source: str) -> list[dict[str, Any]]:
    """The events up to the end, or up to where the engine gave up."""
    function = load_target(exercise, source, FILE)
    llm = make_llm(num_page_override=24, page_size=4, max_running_req=4)
    with (
        trace.learner_file(FILE),
        trace.recording(trace.Recorder(clock=lambda: 0.0)) as recorder,
        install(llm, exercise, {exercise.name: function}),
        suppress(RuntimeError),  # the engine has found that something is wrong
    ):
        run(llm, ARRIVALS)
    return recorder.events


def mutant(exercise: Any, letter: str) -> str:
    return next(one.code for one in load_hidden(exercise).mutants if one.letter == letter)


def right() -> str:
    """The engine's own function, as a file of the learner's."""
    return "from __future__ import annotations\n" + textwrap.dedent(inspect.getsource(CacheManager.cache_req))


def told(fold: Fold, name: str, events: list[dict[str, Any]]) -> set[str]:
    return {alert["key"] for note in fold(name, events).notes for alert in note["alerts"]}


def test_a_right_function_is_seen_at_work(fold: Fold) -> None:
    got = fold("kv_pool", learner_s_run(CACHE_REQ, right()))
    assert not any(note["alerts"] for note in got.notes)
    assert got.at[0]["note"]["key"] == "kv_pool_idle"
    assert max(step.get("call", 0) for step in got.steps) == 6
    assert all("line" in step for step in got.steps if step["kind"] in ("insert", "free"))


@pytest.mark.parametrize(
    ("letter", "key"),
    [
        ("a", "kv_pool_lost"),
        ("b", "kv_pool_dangling"),
        ("e", "kv_pool_dangling"),
        ("f", "kv_pool_free_cached"),
        ("g", "kv_pool_lost"),
        ("i", "kv_pool_free_cached"),
    ],
)
def test_what_a_wrong_cache_req_does_to_the_pages_is_told(fold: Fold, letter: str, key: str) -> None:
    assert key in told(fold, "kv_pool", learner_s_run(CACHE_REQ, mutant(CACHE_REQ, letter)))


def test_a_radix_split_that_drops_the_locks_is_told(fold: Fold) -> None:
    events = learner_s_run(RADIX_SPLIT, mutant(RADIX_SPLIT, "a"))
    assert "radix_tree_locks" in told(fold, "radix_tree", events)


def played(method: str = "", source: str = "") -> list[dict[str, Any]]:
    """The own run of 178's reference, with one method in place of its own, up to its end or an exception."""
    source = source or solution_text(BLOCK_POOL)
    if method:
        source += f"\n\nclass Odd(BlockPool):\n    {method}\n\nBlockPool = Odd\n"
    pool = load_target(BLOCK_POOL, source, "mine/178_block_pool.py")
    events: list[dict[str, Any]] = []
    assert BLOCK_POOL.own_run is not None
    with suppress(Exception):
        for event in own_run.events(BLOCK_POOL.own_run, pool, []):
            events.append(event)
    return events


@pytest.mark.parametrize(
    ("letter", "key"),
    [
        ("a", "block_pool_queued_held"),
        ("b", "block_pool_missed"),
        ("c", "block_pool_wrong_hit"),
        ("d", "block_pool_not_first"),
    ],
)
def test_what_a_wrong_pool_does_is_told(fold: Fold, letter: str, key: str) -> None:
    hidden = load_hidden(BLOCK_POOL)
    wrong = next(one for one in hidden.mutants if one.letter == letter)
    events = played(source=mutant_source(hidden, wrong))
    assert key in told(fold, "block_pool", events)


@pytest.mark.parametrize(
    ("method", "key"),
    [
        ("def free(self, block): self.ref[block] -= 1", "block_pool_nowhere"),
        ("def free(self, block): self.ref[block] = 0; self.queue += [block] * 2", "block_pool_double"),
        ("def free(self, block): self.ref[block] = 0; self.queue.insert(0, block)", "block_pool_not_last"),
        (
            "def allocate(self): self.ref[3] = 1; self.queue = self.queue[:3]; return 3",
            "block_pool_not_the_front",
        ),
        ("def allocate(self): return 0", "block_pool_count"),
        ("def allocate(self): self.queue = [1, 2, 3]; self.ref[0] = 1; return 0", "block_pool_given_twice"),
        ("def allocate(self): return True", "block_pool_no_block"),
        ("def allocate(self): return super().allocate() if self.queue else -1", "block_pool_no_error"),
        ("def touch(self, block): super().touch(block); self.ref[block] += 1", "block_pool_count"),
        ("def lookup(self, key): return 'p'", "block_pool_no_block"),
        ("def touch(self, block): raise IndexError", "block_pool_undue"),
        ("def touch(self, block): self.queue.append(9)", "block_pool_strange"),
        ("def touch(self, block): self.queue = [1] * 2000", "block_pool_too_long"),
        ("def touch(self, block): self.queue = {1}", "block_pool_no_list"),
        ("def touch(self, block): self.ref = [0]", "block_pool_no_counts"),
    ],
)
def test_a_pool_that_breaks_its_word_is_told(fold: Fold, method: str, key: str) -> None:
    assert key in told(fold, "block_pool", played(method))


def test_an_exhausted_pool_that_raises_something_else_is_told(fold: Fold) -> None:
    source = solution_text(BLOCK_POOL).replace("raise RuntimeError", "raise IndexError")
    got = fold("block_pool", played(source=source))
    assert told(fold, "block_pool", played(source=source)) == {"block_pool_other_error"}
    assert got.at[0]["note"]["key"] == "block_pool_end", "it goes on to the end"


def test_values_in_the_trace_are_only_ever_text(fold: Fold) -> None:
    got = fold("block_pool", played("def allocate(self): return '<img src=x>'"), [1])
    assert got.at[0]["call"] == {"op": "allocate", "args": "", "gave": '"<img src=x>"'}


@pytest.mark.parametrize("result", [None, 3, "x", [], {}, {"logical_blocks": "1"}, {"other": "Odd"}])
def test_a_footprint_without_its_numbers_is_told(fold: Fold, result: Any) -> None:
    event = {"v": 1, "seq": 0, "t": 0, "type": "footprint", "result": result}
    got = fold("page_table", [event], [0])
    assert [alert["key"] for alert in got.notes[0]["alerts"]] == ["page_table_footprint_none"]
