"""A cell's own code at work where the engine does not call it: ``own_run.py`` makes the trace here."""

from __future__ import annotations

from typing import Any

import torch

from judge import own_run
from judge.engine_plan import questions
from judge.exercises import Exercise
from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.locate import BUNDLED
from minisgl.utils import trace

_TOKENS = 24
_SETTINGS: dict[str, Any] = {
    "page_size": 4, "num_page_override": 64, "max_seq_len_override": 512, "device": "cpu",
}  # fmt: skip


def play(exercise: Exercise, target: Any, lang: str) -> tuple[list[own_run.Event], str]:
    """The events up to the end or to an exception, and what that was, ``""`` where there was none."""
    source = exercise.own_run
    assert source is not None
    given = _engine(exercise, lang) if own_run.takes_trace(source) else []
    events: list[own_run.Event] = []
    try:
        for event in own_run.events(source, target, given):
            events.append(event)
    except Exception as error:
        return events, own_run.class_name(error)
    return events, ""


def _engine(exercise: Exercise, lang: str) -> list[trace.Event]:
    """A run of the engine as it is, as the page makes it in the tab."""
    prompts = [asked for each, asked in questions(exercise) if each == lang]
    llm = LLM(BUNDLED, dtype=torch.float32, **_SETTINGS)
    with trace.recording(trace.Recorder()) as recorder:
        llm.generate(prompts, SamplingParams(max_tokens=_TOKENS))
    return recorder.events
