"""Whom optimistic admission has to send back to the queue when the pages run out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from ..core import Req
from ..utils import cdiv
from .cache import CacheManager
from .decode import retract_to_fit
from .utils import PendingReq


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
