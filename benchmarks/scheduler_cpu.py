"""CPU time of one step outside of the forward, which a stub stands in for: what a GPU would have to hide.

    python benchmarks/scheduler_cpu.py [--steps 200] [--page-size 1 16] [--overlap]

A decode step of 1, 64 and 256 requests (512 tokens in), in microseconds of this thread, the fastest of all
steps, and the fastest of its parts. Then the admission of one long prompt, with and without a cached prefix.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from minisgl.core import Batch, SamplingParams
from minisgl.engine import BatchSamplingArgs, ForwardOutput
from minisgl.llm import LLM
from minisgl.message import UserMsg
from minisgl.models.tiny import tiny_config, tiny_state_dict

BATCH_SIZES = (1, 64, 256)
INPUT_LEN = 512
# of a step; `_prepare_batch` is part of `_schedule_next_batch`
PARTS = ("receive_msg", "_schedule_next_batch", "_prepare_batch", "_forward", "_process_last_data")


class StubbedLLM(LLM):
    """Every token is 1; the time of each part of a step is kept."""

    def __init__(self, page_size: int, overlap: bool, rows: int, longest: int) -> None:
        config = tiny_config()
        config = replace(config, rotary_config=replace(config.rotary_config, max_position=longest))
        super().__init__(
            (config, tiny_state_dict(config, 0)),
            num_page_override=-(-rows * longest // page_size),
            max_seq_len_override=longest,
            max_running_req=rows,
            page_size=page_size,
            overlap=overlap,
            max_extend_tokens=rows * longest,
        )
        self.engine.forward_batch = self._stub  # type: ignore[method-assign]
        self.seconds: dict[str, list[float]] = defaultdict(list)
        for name in PARTS:
            setattr(self, name, self._timed(name, getattr(self, name)))

    def _stub(self, batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
        for req in batch.reqs:
            req.complete_one()
        tokens = torch.ones(batch.size, dtype=torch.int32)
        return ForwardOutput(tokens, tokens, None)

    def _timed(self, name: str, run: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.thread_time()
            result = run(*args, **kwargs)
            self.seconds[name].append(time.thread_time() - start)
            return result

        return timed


def message(uid: int, length: int, steps: int) -> UserMsg:
    ids = torch.randint(512, (length,), dtype=torch.int32, generator=torch.Generator().manual_seed(uid))
    return UserMsg(uid, ids, SamplingParams(max_tokens=steps + 8, ignore_eos=True))


def decode_steps(llm: LLM, count: int, steps: int) -> list[float]:
    llm.inbox.extend(message(uid, INPUT_LEN, steps) for uid in range(count))
    last_data = None
    for _ in range(4):
        last_data = llm.step(last_data)
    llm.seconds.clear()  # type: ignore[attr-defined]
    seconds = []
    for _ in range(steps):
        start = time.thread_time()
        last_data = llm.step(last_data)
        llm.outbox.clear()
        seconds.append(time.thread_time() - start)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--page-size", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--overlap", action="store_true")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for page_size in args.page_size:
        for count in BATCH_SIZES:
            llm = StubbedLLM(page_size, args.overlap, count, INPUT_LEN + args.steps + 16)
            total = min(decode_steps(llm, count, args.steps))
            parts = {name: min(llm.seconds[name]) for name in PARTS}
            shares = "  ".join(f"{name.lstrip('_')} {seconds * 1e6:.0f}" for name, seconds in parts.items())
            print(f"page size {page_size:2}, {count:3} requests: {total * 1e6:6.0f} us   ({shares})")
    for length in (4096, 32768):
        llm = StubbedLLM(1, args.overlap, 2, length + 16)
        for uid, what in ((0, "new"), (1, "cached")):
            first = message(0, length, 0)
            llm.inbox.append(UserMsg(uid, first.input_ids, SamplingParams(max_tokens=2, ignore_eos=True)))
            llm.seconds.clear()
            last_data = llm.step(None)
            seconds = sum(llm.seconds["_schedule_next_batch"])
            while llm.is_busy:
                last_data = llm.step(last_data)
            print(f"admission of {length} tokens, {what}: {seconds * 1e6:.0f} us")


if __name__ == "__main__":
    main()
