"""Which waiting prompts are computed next."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..core import Batch, Req
from ..message import UserMsg
from ..utils import trace
from .table import TableManager
from .utils import PendingReq


@dataclass
class PrefillManager:
    """The queue of waiting requests, first come first served."""

    table_manager: TableManager
    pending_list: list[PendingReq] = field(default_factory=list)

    def reset(self) -> None:
        """Forget all requests."""
        self.pending_list.clear()

    def add_one_req(self, msg: UserMsg) -> None:
        """Queue a request."""
        self.pending_list.append(PendingReq(msg.uid, msg.input_ids, msg.sampling_params))
        trace.emit(
            "queued",
            req=msg.uid,
            input_len=len(msg.input_ids),
            output_len=msg.sampling_params.max_tokens,
            input_ids=msg.input_ids,
        )

    def schedule_next_batch(self, prefill_budget: int) -> Batch | None:
        """Admit waiting requests in order up to the first that does not fit; None when none is admitted.

        A request needs a row of the page table, whose stretch of the pool then is its own, and its prompt
        must fit into what is left of the budget of tokens. Nobody overtakes: a request that must wait would
        otherwise starve behind smaller ones.
        """
        reqs: list[Req] = []
        for pending_req in self.pending_list:
            if self.table_manager.available_size == 0 or pending_req.input_len > prefill_budget:
                break
            prefill_budget -= pending_req.input_len
            reqs.append(self._add_one_req(pending_req))
        if not reqs:
            return None
        self.pending_list = self.pending_list[len(reqs) :]
        return Batch(reqs, "prefill")

    def abort_req(self, uid: int) -> bool:
        """Take a request out of the queue; False when it is not there."""
        waiting = [req for req in self.pending_list if req.uid != uid]
        found = len(waiting) < len(self.pending_list)
        self.pending_list = waiting
        return found

    @property
    def runnable(self) -> bool:
        return len(self.pending_list) > 0

    def _add_one_req(self, pending_req: PendingReq) -> Req:
        """Give a request a row and put its prompt into the token pool."""
        table_idx = self.table_manager.allocate()
        self.table_manager.token_pool[table_idx, : pending_req.input_len] = pending_req.input_ids
        trace.emit(
            "admitted", req=pending_req.uid, slot=table_idx, cached_len=0, extend_len=pending_req.input_len
        )
        return Req(
            input_ids=pending_req.input_ids,
            table_idx=table_idx,
            cached_len=0,
            output_len=pending_req.output_len,
            uid=pending_req.uid,
            sampling_params=pending_req.sampling_params,
            cache_handle=None,  # type: ignore[arg-type] # there is no prefix cache yet
        )
