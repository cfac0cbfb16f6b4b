"""Admission: which waiting prompts are computed next."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..core import Batch, Req
from ..kvcache import BaseCacheHandle
from ..message import UserMsg
from ..utils import trace
from .cache import CacheManager
from .decode import DecodeManager
from .table import TableManager
from .utils import PendingReq, recorded_admission


@dataclass
class PrefillAdder:
    """Fills one prefill batch, request by request.

    A request is admitted for its worst case, all of `max_tokens`. So a running request never waits for a
    page.
    """

    token_budget: int  # tokens that this batch may still compute
    reserved_size: int  # tokens promised to running requests and to those in this batch
    cache_manager: CacheManager
    table_manager: TableManager

    def try_add_one(self, pending_req: PendingReq) -> Req | None:
        """Admit one request into the batch; None when it has to wait."""
        if pending_req.input_len > self.token_budget:
            self._refuse(pending_req, "token budget")
            return None
        with recorded_admission(pending_req.uid):
            resource = self._try_allocate_one(pending_req)
        if resource is None:
            self._refuse(pending_req, "memory" if self.table_manager.available_size else "table slots")
            return None
        handle, table_idx = resource
        return self._add_one_req(pending_req, handle, table_idx, handle.cached_len)

    def _try_allocate_one(self, req: PendingReq) -> tuple[BaseCacheHandle, int] | None:
        """Reserve what a waiting request needs until its end.

        1. No free table slot: None.
        2. Match the prompt. What is not cached, and the output, must fit beside `reserved_size` into what is
           available; else None, and no lock is taken.
        3. Lock the match and look again: locked tokens are no longer evictable, so less is available now.
           If it does not fit, unlock and return None.
        4. Take a table slot, and copy the hit prefix into it: its tokens into the token pool, its locations
           into the page table.

        Returns the locked handle and the slot.
        """
        if self.table_manager.available_size == 0:
            return None
        # how many tokens are still to be computed and generated, beside those reserved for others?
        handle = self.cache_manager.match_req(req).cuda_handle
        cached_len = handle.cached_len
        estimated_len = req.input_len - cached_len + req.output_len
        needed = estimated_len + self.reserved_size
        if needed > self.cache_manager.available_size:
            return None
        # the lock shrinks what is available, so look twice; a refused request leaves no lock behind
        self.cache_manager.lock(handle)
        if needed > self.cache_manager.available_size:
            self.cache_manager.unlock(handle)
            return None
        # nothing can fail any more: take the slot and fill in the hit prefix
        table_idx = self.table_manager.allocate()
        self.table_manager.token_pool[table_idx, :cached_len] = req.input_ids[:cached_len]
        self.table_manager.page_table[table_idx, :cached_len] = handle.get_matched_indices()
        return handle, table_idx

    def _add_one_req(
        self, pending_req: PendingReq, cache_handle: BaseCacheHandle, table_idx: int, cached_len: int
    ) -> Req:
        """Charge an admitted request to the budgets and put the rest of its prompt into the token pool."""
        extend_len = pending_req.input_len - cached_len
        self.token_budget -= extend_len
        # its last page may stay almost empty: page_size - 1 tokens that nobody else can use
        self.reserved_size += extend_len + pending_req.output_len + self.cache_manager.page_size - 1
        self.table_manager.token_pool[table_idx, cached_len : pending_req.input_len] = pending_req.input_ids[
            cached_len:
        ]
        trace.emit(
            "admitted", req=pending_req.uid, slot=table_idx, cached_len=cached_len, extend_len=extend_len
        )
        return Req(
            input_ids=pending_req.input_ids,
            table_idx=table_idx,
            cached_len=cached_len,
            output_len=pending_req.output_len,
            uid=pending_req.uid,
            sampling_params=pending_req.sampling_params,
            cache_handle=cache_handle,
        )

    def _refuse(self, pending_req: PendingReq, why: str) -> None:
        trace.emit(
            "refused",
            req=pending_req.uid,
            why=why,
            input_len=pending_req.input_len,
            output_len=pending_req.output_len,
            token_budget=self.token_budget,
            reserved=self.reserved_size,
            available=self.cache_manager.available_size,
        )


@dataclass
class PrefillManager:
    """The queue of waiting requests, first come first served."""

    cache_manager: CacheManager
    table_manager: TableManager
    decode_manager: DecodeManager
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

        Nobody overtakes: a request that must wait would otherwise starve behind smaller ones.
        """
        if not self.pending_list:
            return None
        adder = PrefillAdder(
            token_budget=prefill_budget,
            reserved_size=self.decode_manager.inflight_tokens,
            cache_manager=self.cache_manager,
            table_manager=self.table_manager,
        )
        reqs: list[Req] = []
        for pending_req in self.pending_list:
            req = adder.try_add_one(pending_req)
            if req is None:
                break
            reqs.append(req)
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
