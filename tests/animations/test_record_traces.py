"""The recorded traces: valid, small, and the same when recorded again."""

from __future__ import annotations

import json

import jsonschema
import pytest
from folding import TRACES, read

from minisgl.utils import trace
from tools.animations.build import NAMES
from tools.record_traces import RECORDERS, REPEATABLE

SCHEMA = jsonschema.Draft202012Validator(json.loads(trace.SCHEMA_PATH.read_text(encoding="utf-8")))


def test_there_is_a_trace_for_each_animation() -> None:
    assert {path.stem for path in TRACES.glob("*.jsonl")} == set(NAMES) == set(RECORDERS)


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_is_valid_and_small(name: str) -> None:
    for i, event in enumerate(read(name)):
        SCHEMA.validate(event)
        assert event["seq"] == i
    assert (TRACES / f"{name}.jsonl").stat().st_size < 200_000


@pytest.mark.parametrize("name", REPEATABLE)
def test_recording_again_gives_the_same(name: str) -> None:
    assert RECORDERS[name]() == read(name)
