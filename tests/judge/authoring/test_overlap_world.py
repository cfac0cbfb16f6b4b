"""Scripts of a scheduler under overlap, and where two logs part."""

from __future__ import annotations

import random
from typing import Any

import pytest

from judge.authoring.overlap_box import overlap_world
from judge.authoring.overlap_world import EOS, difference, request, script
from judge.exercises import find
from judge.harness.local import Collaborator, LocalIO
from minisgl.scheduler.scheduler import Scheduler


def played(case: dict[str, Any], name: str = "overlap_loop") -> list[list[Any]]:
    io = LocalIO(Collaborator(None), "here")
    overlap_world(case, name, getattr(Scheduler, name), io)
    return io.emitted


def entries(emitted: list[Any], word: str) -> list[list[Any]]:
    return [entry for loop, _ in emitted for entry in loop if entry[0] == word]


def test_a_script_is_played_to_its_end() -> None:
    case = script(random.Random(0), [request(random.Random(1), 3, prompt=5)])
    emitted = played(case)
    assert [back for _, back in emitted] == [1, 2, 3, 0]
    replies = entries(emitted, "reply")
    assert [reply[2] for reply in replies] == case["requests"][0]["tokens"][:3]
    assert [reply[3] for reply in replies] == [False, False, True]
    assert entries(emitted, "now")[-1] == ["now", [], [0], []]


def test_an_end_of_sequence_comes_while_the_next_step_is_in_flight() -> None:
    case = script(random.Random(0), [request(random.Random(1), 8, eos=1)], late=True)
    emitted = played(case)
    assert [reply[2:5] for reply in entries(emitted, "reply")][-1] == [EOS, True, "stop"]
    assert len(entries(emitted, "launch")) == 3
    assert entries(emitted, "end") == [["end", 0, 0, True]]


@pytest.mark.parametrize("wrong", [None, 3, [None, 0], [[3], 0], [[["schedule", 9]], 0]])
def test_logs_part_at_what_is_no_entry(wrong: Any) -> None:
    due = played(script(random.Random(0), [request(random.Random(1), 2)]))
    assert difference(due, due) is None
    assert difference(due, [wrong, *due[1:]]) is not None
    assert difference(due, [*due, wrong]) is not None
    assert difference(due, due[:-1]) is not None


def test_a_difference_knows_what_came_before_it_in_its_loop() -> None:
    due = played(script(random.Random(0), [request(random.Random(1), 2)]))
    found = difference(due, [due[0], [due[1][0][:2], 2]])
    assert found is not None and found.words == ("wait" if due[1][0][2][0] == "wait" else "stream", "back")
    assert found.latest("receive") == ["receive", False] and not found.latest("launch")


def test_the_world_enters_the_box_with_its_drive() -> None:
    names: dict[str, Any] = {}
    exec(find("204").hidden.drive_source, names)
    assert {"overlap_world", "drive"} <= names.keys()
    io = LocalIO(Collaborator(None), "here")
    names["drive"](Scheduler.overlap_loop, script(random.Random(0), [request(random.Random(1), 1)]), io)
    assert io.emitted
