"""Drives an engine by hand, the way a scheduler does, and builds the same model with transformers."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
import transformers
from peer_models import peer_model

from minisgl.core import Batch, Req, SamplingParams, flat_positions
from minisgl.engine import BatchSamplingArgs, Engine, EngineConfig, Sampler
from minisgl.models.config import ModelConfig
from minisgl.models.tiny import tiny_state_dict
from minisgl.utils import align_up


class RecordingSampler(Sampler):
    """Keeps the logits that it last saw."""

    logits: torch.Tensor

    def sample(
        self, logits: torch.Tensor, args: BatchSamplingArgs, tokens: torch.Tensor | None = None
    ) -> torch.Tensor:
        self.logits = logits.clone()
        return super().sample(logits, args, tokens)


class Driver:
    """An engine with a page table whose pages are handed out in random order."""

    def __init__(
        self,
        config: ModelConfig,
        page_size: int = 1,
        seed: int = 0,
        pages: int = 64,
        device: str = "cpu",
        **settings: Any,
    ) -> None:
        self.weights = tiny_state_dict(config, seed)
        self.engine = Engine(
            EngineConfig(
                model=(config, self.weights),
                page_size=page_size,
                device=device,
                num_page_override=pages,
                max_running_req=8,
                **settings,
            )
        )
        self.engine.kv_cache.buffer.fill_(float("nan"))  # shows whoever reads what nobody wrote
        self.engine.sampler = RecordingSampler(self.engine.device, config.vocab_size, 1, 9)
        self.free = list(range(pages))
        random.Random(seed).shuffle(self.free)
        self.rows = 0

    def start(
        self,
        ids: Sequence[int],
        new: int = 1,
        *,
        like: Req | None = None,
        cached: int = 0,
        params: SamplingParams | None = None,
    ) -> Req:
        """A request in its own row; its first `cached` tokens lie where those of `like` do."""
        size = self.engine.page_size
        assert cached % size == 0
        req = Req(
            input_ids=torch.tensor(ids, dtype=torch.int32),
            table_idx=self.rows,
            cached_len=cached,
            output_len=new,
            uid=self.rows,
            sampling_params=params or SamplingParams(),
            cache_handle=None,
        )
        self.rows += 1
        row = self.engine.page_table[req.table_idx]
        if like is not None:
            row[:cached] = self.engine.page_table[like.table_idx, :cached]
        for start in range(cached, align_up(len(ids) + new, size), size):
            row[start : start + size] = self.free.pop() * size + torch.arange(size)
        return req

    def step(self, reqs: list[Req]) -> torch.Tensor:
        """One forward of all of `reqs`; their logits [B, vocab]."""
        decode = all(req.device_len > req.prompt_len for req in reqs)
        batch = Batch(reqs, "decode" if decode else "prefill")
        rows, positions = flat_positions(reqs)
        batch.positions = positions.to(self.engine.device)
        ids = torch.cat([req.input_ids[req.cached_len : req.device_len] for req in reqs])
        batch.input_ids = ids.to(self.engine.device)
        batch.out_loc = self.engine.page_table[rows, positions.long()]
        self.engine.attn_backend.prepare_metadata(batch)
        args = self.engine.sampler.prepare(batch)
        output = self.engine.forward_batch(batch, args)
        if output.copy_done_event is not None:
            output.copy_done_event.synchronize()
        for req, token in zip(reqs, output.next_tokens_cpu.split(1), strict=True):
            req.append_host(token)
        return self.engine.sampler.logits

    def generate(self, reqs: list[Req]) -> list[list[int]]:
        """Run every request to its end, all in one batch while they last; the tokens of each."""
        while running := [req for req in reqs if req.can_decode]:
            self.step(running)
        return [req.input_ids[req.max_device_len - req.output_len :].tolist() for req in reqs]


@pytest.fixture
def driver() -> Callable[..., Driver]:
    return Driver


@pytest.fixture
def peer() -> Callable[[ModelConfig, dict[str, torch.Tensor]], transformers.PreTrainedModel]:
    """The model of transformers with the same weights."""

    return peer_model
