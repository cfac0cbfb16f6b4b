"""The requests that are past their prompt and generate a token a step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from ..core import Batch, Req
from ..utils import cdiv, trace


@dataclass
class DecodeManager:
    """Keeps the running requests. All of them decode in every decode step."""

    page_size: int
    running_reqs: set[Req] = field(default_factory=set)

    def reset(self) -> None:
        """Forget all requests."""
        self.running_reqs.clear()

    def filter_reqs(self, reqs: Iterable[Req]) -> None:
        """Take in the requests of a forward that has been launched; let go those without a token to go."""
        for req in reqs:
            if req.can_decode:
                self.running_reqs.add(req)
            else:
                self.running_reqs.discard(req)

    def remove_req(self, req: Req) -> None:
        """A request has ended. It may have left already, with its last token."""
        self.running_reqs.discard(req)

    def abort_req(self, uid: int) -> Req | None:
        """Take out a request; None when it does not run."""
        for req in self.running_reqs:
            if req.uid == uid:
                self.running_reqs.remove(req)
                trace.emit("abort", req=uid)
                return req
        return None

    @property
    def inflight_tokens(self) -> int:
        """Tokens to keep in reserve so that no running request ever waits for a page.

        Each may still generate `remain_len` tokens, and the last of its pages may stay almost empty.
        """
        return sum(req.remain_len + self.page_size - 1 for req in self.running_reqs)

    def schedule_next_batch(self) -> Batch | None:
        """One token for each running request; None when nothing runs.

        In ascending uid: a set has no order of its own, and all ranks must agree on one.
        """
        if not self.running_reqs:
            return None
        return Batch(sorted(self.running_reqs, key=attrgetter("uid")), "decode")

    @property
    def runnable(self) -> bool:
        return len(self.running_reqs) > 0


def retract_to_fit(
    running: Sequence[dict[str, Any]], free_pages: int, page_size: int, watermark: int
) -> list[dict[str, Any]]:
    """Choose whom to send back to the queue so that all others can take their next step.

    The latest admitted goes first: it has the least to lose, and the earliest always gets on.

    Args:
        running: the requests in the order of their admission, each a dict with `uid`, `cached_len` and
            `device_len` (tokens with KV before and after the step), `pages` (that it has), `shared_pages`
            (of these, what stays in use without it), `prompt` and `output` (lists of ids), `max_tokens`.
        free_pages: pages that can be had now.
        page_size: tokens a page.
        watermark: pages to leave free, or the next step would retract again. A request that is alone ignores
            it.

    Returns:
        Those who go, in this order, each `{"uid", "input_ids", "max_tokens"}`: what they have generated was
        sent, so it is input from now on.

    Raises:
        RuntimeError: not even one request fits.
    """
    kept = list(running)
    retracted: list[dict[str, Any]] = []

    def needed(req: dict[str, Any]) -> int:
        return cdiv(req["device_len"], page_size) - cdiv(req["cached_len"], page_size)

    need = sum(needed(req) for req in kept)
    while need > 0 and need > free_pages - (watermark if len(kept) > 1 else 0):
        if len(kept) == 1:
            raise RuntimeError(f"request {kept[0]['uid']} needs {need} pages, and {free_pages} can be had")
        req = kept.pop()
        need -= needed(req)
        free_pages += req["pages"] - req["shared_pages"]
        retracted.append(
            {
                "uid": req["uid"],
                "input_ids": req["prompt"] + req["output"],
                "max_tokens": req["max_tokens"] - len(req["output"]),
            }
        )
    return retracted
