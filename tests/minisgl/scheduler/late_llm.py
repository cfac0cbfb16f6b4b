"""An LLM whose forwards happen at other times than the CPU's."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import Any

import torch

from minisgl.core import Req
from minisgl.engine import ForwardOutput
from minisgl.llm import LLM
from minisgl.scheduler import ForwardInput


class _Done:
    """The event that a forward's results have arrived: waiting for it makes the forward happen."""

    def __init__(self, wait: Callable[[], None]) -> None:
        self.synchronize = wait


class LateLLM(LLM):
    """Launches its forwards and runs them later, in order, as a GPU does.

    At the latest when somebody waits for the result; `moment` says whether at once (True) or then (False).
    What a forward reads of the page table and the token pool it finds as they are by then.
    """

    def __init__(self, *args: Any, moment: random.Random | None = None, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._moment = moment
        self._waiting: deque[Callable[[], None]] = deque()

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        batch, sample_args, input_tuple, write_tuple = forward_input
        self._launched.append(batch)
        lengths = [(req, req.cached_len, req.device_len) for req in batch.reqs]
        for req in batch.reqs:
            req.complete_one()
        self.decode_manager.filter_reqs(batch.reqs)
        tokens = torch.full((batch.size,), -9, dtype=torch.int32)

        def run() -> None:
            now = [(req, req.cached_len, req.device_len) for req in batch.reqs]
            _set_lengths(lengths)
            self.engine.attn_backend.prepare_metadata(batch)
            batch.input_ids = self.token_pool[input_tuple]
            output = self.engine.forward_batch(batch, sample_args)
            self.token_pool[write_tuple] = output.next_tokens_gpu
            tokens.copy_(output.next_tokens_cpu)
            _set_lengths(now)

        def wait() -> None:
            while run in self._waiting:
                self._waiting.popleft()()

        self._waiting.append(run)
        if self._moment is not None and self._moment.random() < 0.5:
            wait()
        return ForwardOutput(tokens, tokens, _Done(wait))  # type: ignore[arg-type]

    def reset(self) -> None:
        self._waiting.clear()
        super().reset()


def _set_lengths(lengths: list[tuple[Req, int, int]]) -> None:
    for req, cached_len, device_len in lengths:
        req.cached_len, req.device_len = cached_len, device_len
