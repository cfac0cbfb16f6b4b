"""The requests that are past their prompt and generate a token a step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..core import Batch, Req


@dataclass
class DecodeManager:
    """Keeps the running requests. All of them decode in every decode step."""

    page_size: int
    running_reqs: set[Req] = field(default_factory=set)

    def reset(self) -> None:
        """Forget all requests."""
        self.running_reqs.clear()

    def filter_reqs(self, reqs: Iterable[Req]) -> None:
        """Take in the requests of a forward that has been launched; keep those that have a token to go."""
        self.running_reqs = {req for req in self.running_reqs.union(reqs) if req.can_decode}

    def remove_req(self, req: Req) -> None:
        """A request has ended. It may have left already, with its last token."""
        self.running_reqs.discard(req)

    def abort_req(self, uid: int) -> Req | None:
        """Take out a request; None when it does not run."""
        for req in self.running_reqs:
            if req.uid == uid:
                self.running_reqs.remove(req)
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
        return Batch(sorted(self.running_reqs, key=lambda req: req.uid), "decode")

    @property
    def runnable(self) -> bool:
        return len(self.running_reqs) > 0
