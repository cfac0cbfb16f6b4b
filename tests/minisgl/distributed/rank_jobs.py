"""Processes that run the same function as ranks of a group, again and again: torch is imported once."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from minisgl.core import SamplingParams
from minisgl.distributed import (
    DistributedCommunicator,
    DistributedInfo,
    PeerLostError,
    get_tp_info,
    set_tp_info,
)
from minisgl.distributed.impl import all_gather_int, join_group, leave_group
from minisgl.engine import Engine
from minisgl.llm import LLM
from minisgl.models.tiny import tiny_config, tiny_state_dict
from minisgl.utils import trace


class Ranks:
    """`count` processes, of which a job takes as many as it needs."""

    def __init__(self, count: int, folder: Path) -> None:
        context = get_context("forkserver")
        context.set_forkserver_preload(["torch.distributed", "minisgl.llm"])
        self._folder, self._jobs = folder, 0
        self._pipes: list[Connection] = []
        self._processes = []
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(target=_work, args=(there,), daemon=True)
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def run(self, size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
        """What the function returns on each of `size` ranks. An error of one of them is an AssertionError."""
        self._jobs += 1
        for rank in range(size):
            job = DistributedInfo(rank, size), self._folder / f"meeting-{self._jobs}", function, args
            self._pipes[rank].send(job)
        answers = [pipe.recv() for pipe in self._pipes[:size]]
        for rank, (error, _) in enumerate(answers):
            assert not error, f"rank {rank}:\n{error}"
        return [result for _, result in answers]

    def close(self) -> None:
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join(10)
            process.kill()


def _work(pipe: Connection) -> None:
    torch.set_num_threads(1)
    while True:
        try:
            info, meeting, function, args = pipe.recv()
        except EOFError:
            return
        try:
            join_group(info, meeting, torch.device("cpu"))
            answer = "", function(info, *args)
            leave_group()
        except BaseException:
            answer = traceback.format_exc(), None
        pipe.send(answer)


def make_llm(info: DistributedInfo, model: Any, **settings: Any) -> LLM:
    """One rank, in step with the others without messages: all are given the same calls.

    `model` is a name, or the arguments of `tiny_config`.
    """
    if isinstance(model, dict):
        config = tiny_config(**model)
        model = config, tiny_state_dict(config, 0)
    return LLM(model, tp_info=info, **settings)


def generate(
    info: DistributedInfo,
    model: Any,
    settings: dict[str, Any],
    prompts: Sequence[Any],
    params: SamplingParams | Sequence[SamplingParams],
    times: int = 1,
) -> list[list[int]]:
    """Tokens of each prompt, of each of several calls."""
    llm = make_llm(info, model, **settings)
    tokens = [r["token_ids"] for _ in range(times) for r in llm.generate(prompts, params)]
    llm.shutdown()
    return tokens


def facts(info: DistributedInfo, model: Any, settings: dict[str, Any], prompt: list[int]) -> dict[str, Any]:
    """What a rank holds, and what it does in one forward."""
    llm = make_llm(info, model, **settings)
    assert get_tp_info() == info
    with trace.recording(trace.Recorder()) as recorder:
        llm.generate([prompt], SamplingParams(max_tokens=1))
    weights = llm.engine.model.state_dict()
    return {
        "qkv rows": len(weights["model.layers.0.self_attn.qkv_proj.weight"]),
        "weights": sum(weight.numel() for weight in weights.values()),
        "kv": llm.engine.kv_bytes_per_token,
        "buffer": llm.engine.kv_cache.buffer.numel(),
        "pages": llm.engine.num_pages,
        "events": [
            {name: value for name, value in event.items() if name not in ("seq", "t")}
            for event in recorder.of_type("all_reduce", "all_gather")
        ],
    }


def pages_with_free_memory(info: DistributedInfo, before: list[int], after: list[int]) -> int:
    """Pages of the pool when each rank finds so many bytes free."""
    reports = iter((before[info.rank], after[info.rank]))
    original = Engine._free_memory
    Engine._free_memory = lambda self: next(reports)  # type: ignore[method-assign]
    try:
        return make_llm(info, {}, max_running_req=1000).engine.num_pages
    finally:
        Engine._free_memory = original  # type: ignore[method-assign]


def collectives(info: DistributedInfo, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor, bool]:
    """A sum and a concatenation of what the ranks have: rank + 1, in every place."""
    set_tp_info(info.rank, info.size)
    comm = DistributedCommunicator()
    x = torch.full((2, 3), info.rank + 1, dtype=dtype)
    gathered = comm.all_gather(x.t().contiguous().t())
    total = comm.all_reduce(x)
    assert all_gather_int(10 * info.rank) == [10 * rank for rank in range(info.size)]
    return total, gathered, total is x


def left_alone(info: DistributedInfo) -> bool:
    """Whether a rank is told that the others have gone."""
    set_tp_info(info.rank, info.size)
    if info.rank == 1:
        return True
    try:
        DistributedCommunicator().all_reduce(torch.zeros(4))
    except PeerLostError as error:
        return error.__cause__ is not None
    return False
