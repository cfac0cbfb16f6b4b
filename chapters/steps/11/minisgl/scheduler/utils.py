"""What several parts of the scheduler share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ..core import Batch, ChunkedReq, Req, SamplingParams
from ..message import DetokenizeMsg
from ..utils import trace

if TYPE_CHECKING:
    from .cache import CacheManager
    from .config import SchedulerConfig


@dataclass(eq=False)
class PendingReq:
    """A request that waits for a row and for room in the cache, or for the rest of its prompt."""

    uid: int
    input_ids: torch.Tensor  # int32 [input_len], on the CPU
    sampling_params: SamplingParams
    prompt_len: int = 0  # tokens that the user gave; more are known of a request that was retracted
    since: int = 0  # step in which it came
    chunked_req: ChunkedReq | None = None  # what holds its row and the KV of its first tokens

    def __post_init__(self) -> None:
        self.prompt_len = self.prompt_len or self.input_len

    @property
    def input_len(self) -> int:
        return len(self.input_ids)

    @property
    def output_len(self) -> int:
        """Most tokens that it may generate."""
        return self.sampling_params.max_tokens


def to_device(host: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor of the CPU, copied to the device without waiting for it."""
    if device.type != "cuda":
        return host
    return host.pin_memory().to(device, non_blocking=True)


def finish_reason(req: Req, token: int, eos_token_ids: frozenset[int]) -> str | None:
    """Why a request ends with the token that it has just got; None when it goes on."""
    if token in eos_token_ids and not req.sampling_params.ignore_eos:
        return "stop"
    return "length" if req.input_ids.numel() >= req.max_device_len else None


def error_msg(uid: int, error: str) -> DetokenizeMsg:
    """Tell a request's owner that it cannot go on, and why."""
    return DetokenizeMsg(uid, next_token=-1, finished=True, finish_reason="error", error=error)


@contextmanager
def recorded_admission(uid: int) -> Iterator[None]:
    """What happens in this block is recorded as belonging to a request."""
    recorder = trace.active()
    if recorder is None:
        yield
    else:
        with recorder.about(uid):
            yield


@contextmanager
def recorded_cache_req(req: Req, *, finished: bool) -> Iterator[None]:
    """Record a call of `cache_req` with its four bounds.

    From outside of it, so that a replaced `cache_req` is recorded as well. The bounds come from the handle
    that the request holds before, and from what the prefix cache reports on the insertion.
    """
    recorder = trace.active()
    if recorder is None:
        yield
        return
    old_len, start = req.cache_handle.cached_len, len(recorder.events)
    with recorder.about(req.uid):
        yield
        for event in recorder.events[start:]:
            if event["type"] == "insert":
                bounds = [old_len, event["cached_len"], event["new_len"], event["length"]]
                trace.emit("cache_req", finished=finished, bounds=bounds, locations=event["locations"])
                break
    if finished:
        recorder.forget_row(req.uid)


def record_setup(config: SchedulerConfig, cache_manager: CacheManager, *, overlap: bool) -> None:
    """Record what a run starts with: the pool, and what of it the prefix cache holds already."""
    if trace.active() is None:
        return
    trace.emit(
        "setup",
        pages=cache_manager.num_pages,
        page_size=cache_manager.page_size,
        rows=config.max_running_req,
        token_budget=config.max_extend_tokens,
        overlap=overlap,
        cached=cache_manager.prefix_cache.cached_locations()[:: cache_manager.page_size],
    )


def record_batch(batch: Batch, page_table: torch.Tensor) -> None:
    """Record a batch and the locations that its rows name. Seen from here and not reported by whoever wrote
    them, so that the record is the same when a method has been replaced.
    """
    recorder = trace.active()
    if recorder is None:
        return
    for req in batch.reqs:
        recorder.watch_row(req.uid, req.table_idx, page_table[req.table_idx, : req.device_len])
    uids = [req.uid for req in batch.reqs]
    trace.emit("batch", phase=batch.phase, uids=uids, tokens=[req.extend_len for req in batch.reqs])
