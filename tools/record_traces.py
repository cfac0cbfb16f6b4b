"""`python -m tools.record_traces [NAME ...]`: the traces that the animations play, from the real engine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from judge import own_run
from judge.exercises import find
from judge.harness.local import load_target
from judge.solution import solution_text
from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.llm.output import Output
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler.utils import record_setup
from minisgl.utils import trace
from tools.record_server import record as request_life

FOLDER = Path(__file__).resolve().parent.parent / "animations" / "traces"

Events = list[trace.Event]
Arrival = tuple[int, list[int], int]
"""Step in which a request comes, its prompt, and how many tokens it wants."""


def make_llm(**settings: Any) -> LLM:
    """T0, the tiny random model, whose runs are the same everywhere."""
    config = tiny_config()
    return LLM((config, tiny_state_dict(config, seed=0)), **settings)


def run(llm: LLM, arrivals: Iterable[Arrival]) -> None:
    """Run requests that come at certain steps. Times are left out: all of them are 0."""
    coming = sorted(arrivals, key=lambda arrival: arrival[0])
    record_setup(llm.config, llm.cache_manager, overlap=llm.overlap)
    running: dict[int, Output] = {}
    last_data, step = None, 0
    while coming or llm.is_busy:
        while coming and coming[0][0] <= step:
            _, ids, max_tokens = coming.pop(0)
            (msg,) = llm._make_msgs([ids], SamplingParams(max_tokens=max_tokens, ignore_eos=True))
            llm._next_uid += 1
            running[msg.uid] = Output(0, msg.sampling_params, None)
            llm.inbox.append(msg)
        if llm.is_busy:
            last_data = llm.step(last_data)
            llm._collect(running)
        step += 1
    llm.run_when_idle()


def recorded(*runs: tuple[LLM, Sequence[Arrival]]) -> Events:
    """The events of one run after the other."""
    with trace.recording(trace.Recorder(clock=lambda: 0.0)) as recorder:
        for llm, arrivals in runs:
            run(llm, arrivals)
    return recorder.events


def kv_pool() -> Events:
    """Two that share three pages, then two more that share two: every region of `cache_req` is there."""
    shared, more = prompt(0, 12), prompt(2, 12)
    arrivals = [
        (0, [*shared, *prompt(1, 2)], 6),
        (0, [*shared, *prompt(3, 1)], 7),
        (2, [*shared[:8], *more, *prompt(4, 1)], 5),
        (2, [*shared[:8], *more[:8], *prompt(5, 6)], 5),
    ]
    return recorded((make_llm(num_page_override=20, page_size=4, max_running_req=4), arrivals))


def radix_tree() -> Events:
    """Prompts that fork twice, one that is cached whole, and a last one for which old leaves have to go."""
    arrivals = [
        (0, [1, 2, 3, 4, 5, 6], 3),
        (0, [1, 2, 3, 4, 7, 8, 9], 3),
        (2, [1, 2, 10, 11], 2),
        (6, [1, 2, 3, 4, 5, 6], 2),
        (9, [20, 21, 22, 23, 24, 25, 26, 27, 28, 29], 4),
        (14, [1, 2, 3, 30, 31], 2),
    ]
    return recorded((make_llm(num_page_override=26, page_size=1, max_running_req=4), arrivals))


def scheduler_timeline() -> Events:
    """Chapter 8's five requests in a pool of 64 tokens: the fifth has to wait until the others are gone."""
    lengths = [5, 5, 4, 15, 5]
    arrivals = [(0, prompt(i, length), 8) for i, length in enumerate(lengths)]
    return recorded((make_llm(num_page_override=64, max_running_req=8, cache_type="naive"), arrivals))


def page_table() -> Events:
    """Rows that fill up while others come and go: neighbours lie in pages that are none."""
    arrivals = [
        (0, prompt(0, 6), 7),
        (0, prompt(1, 5), 3),
        (3, prompt(0, 7), 5),
    ]
    return recorded((make_llm(num_page_override=12, page_size=4, max_running_req=4), arrivals))


def block_pool() -> Events:
    """Exercise 178's own run, with the reference. Its lines are nobody's."""
    exercise = find("178")
    assert exercise.own_run is not None
    target = load_target(exercise, solution_text(exercise), "reference.py")
    return [
        {name: value for name, value in event.items() if name != "line"}
        for event in own_run.events(exercise.own_run, target, [])
    ]


def chunked_prefill() -> Events:
    """Two that decode while a prompt of 50 comes in, in chunks; then pages run out and one goes back."""
    arrivals = [
        (0, prompt(1, 9), 14),
        (0, prompt(2, 6), 14),
        (2, prompt(0, 50), 8),
    ]
    llm = make_llm(
        num_page_override=21, page_size=4, max_running_req=4, max_extend_tokens=16, mixed=True,
        admission="optimistic",
    )  # fmt: skip
    return recorded((llm, arrivals))


def overlap() -> Events:
    """The same two requests without and with overlap. One ends by a stop token, which nobody knew before."""
    settings: dict[str, Any] = {"num_page_override": 64, "cache_type": "naive"}
    first = make_llm(**settings).generate([prompt(1, 4)], SamplingParams(max_tokens=3, ignore_eos=True))
    stop = first[0]["token_ids"][2]
    with trace.recording(trace.Recorder(clock=lambda: 0.0)) as recorder:
        for overlap in (False, True):
            make_llm(overlap=overlap, **settings).generate(
                [prompt(0, 5), prompt(1, 4)],
                [
                    SamplingParams(max_tokens=5, ignore_eos=True),
                    SamplingParams(max_tokens=9, ignore_eos=True, stop_token_ids=(stop,)),
                ],
            )
    return recorder.events


def tensor_parallel() -> Events:
    """Rank 0 of two that share T0, over gloo."""
    llm = make_llm(num_page_override=64, tp_size=2)
    try:
        return recorded((llm, [(0, prompt(0, 5), 3), (0, prompt(1, 9), 3)]))
    finally:
        llm.shutdown()


def cuda_graph() -> Events:
    """Sizes 1, 2 and 4 are captured; batches of 3, 2 and 1 replay them. Emulated, as there is no GPU here."""
    with trace.recording(trace.Recorder(clock=lambda: 0.0)) as recorder:
        llm = make_llm(
            num_page_override=64, max_running_req=4, emulate_graph=True, cuda_graph_bs=[1, 2, 4],
            cuda_graph_max_bs=4,
        )  # fmt: skip
        run(llm, [(0, prompt(0, 5), 7), (0, prompt(1, 5), 4), (0, prompt(2, 4), 3)])
    return recorder.events


RECORDERS: dict[str, Callable[[], Events]] = {
    "kv_pool": kv_pool,
    "page_table": page_table,
    "block_pool": block_pool,
    "radix_tree": radix_tree,
    "scheduler_timeline": scheduler_timeline,
    "chunked_prefill": chunked_prefill,
    "overlap": overlap,
    "request_life": request_life,
    "tensor_parallel": tensor_parallel,
    "cuda_graph": cuda_graph,
}
REPEATABLE = tuple(name for name in RECORDERS if name != "request_life")
"""Recorded again, these give the same events. In a server processes race."""


def text_of(events: Events) -> str:
    """JSON Lines."""
    lines = (json.dumps(event, ensure_ascii=False, separators=(",", ":")) for event in events)
    return "".join(f"{line}\n" for line in lines)


def main(names: Sequence[str]) -> None:
    for name in names or RECORDERS:
        path = FOLDER / f"{name}.jsonl"
        path.write_text(text_of(RECORDERS[name]()), encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
