"""Traces that nobody would wish for: wrong code, broken files, endless runs."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from folding import Fold, read

from tools.animations.build import NAMES


def alerts(notes: list[dict[str, Any]]) -> set[str]:
    return {alert["key"] for note in notes for alert in note["alerts"]}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "trace", [[], "", None, 7, {"type": "free"}, [None, 3, "x", [], {}], "{not json\n[1]\n"]
)
def test_what_is_no_trace_has_no_steps_and_no_error(name: str, trace: Any, fold: Fold) -> None:
    assert fold(name, trace, [], folded=False).steps == []


@pytest.mark.parametrize("name", NAMES)
def test_fields_of_any_kind_do_no_harm(name: str, fold: Fold) -> None:
    """Every event of the recorded run with one field spoiled."""
    spoiled: list[dict[str, Any]] = []
    for event in read(name):
        for field in event.keys() - {"type", "v", "seq", "t"}:
            for value in (None, -1, "<b>x</b>", [None, -4, 1e99, "y"], {}, 2.5):
                spoiled.append({**event, field: value})
        spoiled.append({"type": event["type"]})
    fold(name, spoiled, [0, -1], folded=False)


@pytest.mark.parametrize("name", NAMES)
def test_unknown_events_change_nothing(name: str, fold: Fold) -> None:
    events = read(name)
    mixed = [
        both for event in events for both in (event, {"v": 1, "seq": 0, "t": 0, "type": "news", "req": 1})
    ]
    want, got = fold(name, events).at[0], fold(name, mixed).at[0]
    assert got == want


@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_stops_midway_says_so(name: str, fold: Fold) -> None:
    events = read(name)
    for share in (0.3, 0.6, 0.9):
        cut = events[: int(len(events) * share)]
        assert fold(name, cut).notes[-1]["note"] is not None


@pytest.mark.parametrize("name", NAMES)
def test_twenty_thousand_events_are_quick_to_seek(name: str, fold: Fold) -> None:
    """The run again and again under new numbers; then from one end to the other and back."""
    events: list[dict[str, Any]] = []
    once = read(name)
    most = 1 + max((event["req"] for event in once if "req" in event), default=0)
    while len(events) < 20_000:
        turn = len(events) // len(once)
        for event in copy.deepcopy(once):
            if "req" in event:
                event["req"] += most * turn
            if "uids" in event:
                event["uids"] = [uid + most * turn for uid in event["uids"]]
            events.append(event)
    got = fold(name, events, [0, -1, 5, -100, 400, -2], folded=False, all=False)
    assert got.seconds < 20, "six steps, the first of which runs through the whole"


def learner(events: list[dict[str, Any]], *drop: str, call: int | None = None) -> list[dict[str, Any]]:
    """The run as a function that leaves something out would have made it."""
    kept, calls = [], 0
    for event in events:
        if event["type"] == "insert":
            calls += 1
        of_call = event["type"] in drop and "req" in event and (call is None or calls == call)
        if not of_call:
            kept.append(event)
    return kept


def test_pages_that_nobody_frees_are_without_an_owner(fold: Fold) -> None:
    got = fold("kv_pool", learner(read("kv_pool"), "free"))
    assert "kv_pool_lost" in alerts(got.notes)
    assert got.at[0]["note"]["key"] == "kv_pool_idle_lost"
    lost = [i * 4 for i, page in enumerate(got.at[0]["pages"]) if page["owner"] == "lost"]
    assert lost == got.at[0]["note"]["values"]["pages"] and len(lost) == 9


def test_a_page_freed_twice_is_told(fold: Fold) -> None:
    events = [both for event in read("kv_pool") for both in ([event] * (2 if event["type"] == "free" else 1))]
    assert "kv_pool_twice" in alerts(fold("kv_pool", events).notes)


def test_a_cached_page_that_is_freed_is_told(fold: Fold) -> None:
    events = read("kv_pool")
    at = next(i for i, event in enumerate(events) if event["type"] == "cache_req")
    events.insert(at, {"v": 1, "seq": 0, "t": 0, "type": "free", "req": 0, "pages": [0]})
    assert "kv_pool_free_cached" in alerts(fold("kv_pool", events).notes)


def test_a_row_left_pointing_at_freed_pages_is_told(fold: Fold) -> None:
    """The official engine's defect: the balance is right, and a running request reads free pages."""
    events = [
        event
        for event in read("kv_pool")
        if not (
            event["type"] == "page_table_write"
            and event["start"] == 0
            and event["req"] == 1
            and event["locations"][:1] == [0]
        )
    ]
    told = [alert for note in fold("kv_pool", events).notes for alert in note["alerts"]]
    assert told and told[0]["key"] == "kv_pool_dangling"
    assert told[0]["values"] == {"req": "r1", "pages": [16, 20, 24]}


def test_locks_that_are_never_given_back_are_told(fold: Fold) -> None:
    got = fold("radix_tree", learner(read("radix_tree"), "unlock"))
    assert "radix_tree_locked_idle" in alerts(got.notes)


def test_a_split_that_forgets_its_locks_is_told(fold: Fold) -> None:
    events = [
        {**event, "ref_count": 0} if event["type"] == "split" else event for event in read("radix_tree")
    ]
    assert "radix_tree_locks" in alerts(fold("radix_tree", events).notes)


def test_calls_of_the_learner_are_numbered(fold: Fold) -> None:
    lines = {"insert": 9, "unlock": 26, "lock": 29, "free": 19}
    events, calling = [], False
    for event in read("kv_pool"):
        calling = event["type"] == "insert" or (calling and event["type"] != "cache_req")
        line = lines.get(event["type"]) if calling else None
        events.append({**event, "line": line} if line else event)
    got = fold("kv_pool", events)
    assert [step["line"] for step in got.steps if step.get("call") == 1] == [9, 26, 29]
    assert max(step.get("call", 0) for step in got.steps) == 8


def test_a_trace_s_text_is_read_line_by_line(fold: Fold) -> None:
    events = read("kv_pool")
    text = "\n".join(["", *map(json.dumps, events), "{broken", ""])
    assert fold("kv_pool", text).at == fold("kv_pool", events).at
