"""Whom optimistic admission has to send back to the queue when the pages run out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ..core import Req
from ..utils import cdiv, trace
from .cache import CacheManager
from .config import SchedulerConfig
from .decode import DecodeManager, retract_to_fit
from .prefill import PrefillManager
from .utils import PendingReq


class RetractMixin(ABC):
    """Keeps pages for the next step of all who run."""

    config: SchedulerConfig
    cache_manager: CacheManager
    decode_manager: DecodeManager
    prefill_manager: PrefillManager

    def _make_room(self) -> None:
        """Let the pages last for the next token of each running request. Worst-case admission has seen to it;
        after optimistic admission, requests may have to go back to the queue.
        """
        if self.config.admission == "worst_case":
            return
        running, watermark = self.decode_manager.running_reqs, self.config.watermark
        need = pages_needed(running, self.config.page_size)
        if need == 0 or need <= self.cache_manager.available_size // self.config.page_size - watermark:
            return
        for req, input_ids, max_tokens in choose_retracted(
            running, self.prefill_manager.chunked, self.cache_manager, watermark
        ):
            self._retract_req(req, input_ids, max_tokens)

    def _retract_req(self, req: Req, input_ids: list[int], max_tokens: int) -> None:
        """Send a request back to the queue. What it has computed stays in the prefix cache while there is
        room.
        """
        trace.emit("retract", req=req.uid, cached_len=req.cached_len, input_len=len(input_ids))
        self.decode_manager.remove_req(req)
        self.prefill_manager.put_back(req, input_ids, max_tokens)
        self._free_req_resources(req)

    @abstractmethod
    def _free_req_resources(self, req: Req) -> None:
        """Give back what a request holds."""


def pages_needed(running: Iterable[Req], page_size: int) -> int:
    """Pages that the next token of each running request takes."""
    return sum(cdiv(req.device_len, page_size) - cdiv(req.cached_len, page_size) for req in running)


def choose_retracted(
    running: Iterable[Req], chunked: Sequence[PendingReq], cache_manager: CacheManager, watermark: int
) -> list[tuple[Req, list[int], int]]:
    """Ask `retract_to_fit` about the running requests and those whose prompt is computed in part.

    Returns:
        Each request to retract, all of its tokens that the CPU knows, and how many it may still generate.
    """
    page_size = cache_manager.page_size
    prompts: dict[Req, torch.Tensor] = {
        pending_req.chunked_req: pending_req.input_ids for pending_req in chunked if pending_req.chunked_req
    }
    reqs = [*running, *prompts]
    reqs.sort(key=lambda req: req.admission)
    shared = cache_manager.prefix_cache.shared_sizes([req.cache_handle for req in reqs])
    described: list[dict[str, Any]] = []
    for req, shared_size in zip(reqs, shared, strict=True):
        in_part = req in prompts  # then the request itself holds only what is computed
        ids = (prompts[req] if in_part else req.input_ids).tolist()
        last = len(ids) + req.output_len if in_part else req.max_device_len
        described.append(
            {
                "uid": req.uid,
                "cached_len": req.cached_len,
                "device_len": req.cached_len if in_part else req.device_len,  # no chunk in this step
                "pages": cdiv(req.cached_len, page_size),
                "shared_pages": shared_size // page_size,
                "prompt": ids[: req.prompt_len],
                "output": ids[req.prompt_len :],
                "max_tokens": last - req.prompt_len,
            }
        )
    free_pages = cache_manager.available_size // page_size
    by_uid = {req.uid: req for req in reqs}
    return [
        (by_uid[entry["uid"]], entry["input_ids"], entry["max_tokens"])
        for entry in retract_to_fit(described, free_pages, page_size, watermark)
    ]
