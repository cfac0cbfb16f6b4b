"""Right and wrong functions of a learner in the real engine, and what the animation tells of them."""

from __future__ import annotations

import inspect
import textwrap
from contextlib import suppress
from typing import Any

import pytest
from folding import Fold

from judge.exercises import find
from judge.harness.local import load_target
from judge.hidden_module import load_hidden
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
