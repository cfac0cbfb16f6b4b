"""The milestone of stage 2: what its page tells of the run, and of runs with one thing switched off."""

from __future__ import annotations

import pytest

from examples.stage2_scheduled import PARAMS, PROMPTS
from minisgl.llm import LLM
from minisgl.models.tiny import tiny_config, tiny_state_dict
from minisgl.utils import trace

ALL_ON = {
    "max_running_req": 6, "page_size": 4, "num_page_override": 40, "max_extend_tokens": 16,
    "overlap": True, "mixed": True, "policy": "lpm",
}  # fmt: skip


def run(**changed: object) -> trace.Recorder:
    config = tiny_config()
    llm = LLM((config, tiny_state_dict(config, seed=0)), **(ALL_ON | changed))  # type: ignore[arg-type]
    with trace.recording(trace.Recorder()) as recorder:
        llm.generate(PROMPTS, PARAMS)
    return recorder


@pytest.mark.parametrize(
    ("changed", "steps", "computed"),
    [
        ({}, 36, 282),
        ({"overlap": False}, 33, 258),
        ({"mixed": False}, 41, 282),
        ({"cache_type": "naive"}, 55, 522),
        ({"num_page_override": 200}, 30, 282),
    ],
)
def test_what_each_switch_is_worth(changed: dict[str, object], steps: int, computed: int) -> None:
    batches = run(**changed).of_type("batch")
    assert (len(batches), sum(sum(batch["tokens"]) for batch in batches)) == (steps, computed)


def test_nobody_pauses_and_ten_hit_the_shared_beginning() -> None:
    recorder = run()
    batches = recorder.of_type("batch")
    for uid in range(len(PROMPTS)):
        steps = [number for number, batch in enumerate(batches) if uid in batch["uids"]]
        assert steps == list(range(steps[0], steps[-1] + 1))
    assert [event["cached_len"] for event in recorder.of_type("admitted")] == [0, 0] + [24] * 10
    assert not recorder.of_type("retract")
    first = recorder.of_type("refused")[0]
    assert (first["available"], first["reserved"], first["why"]) == (76, 60, "memory")
    assert max(sum(batch["tokens"]) for batch in batches) == 16
