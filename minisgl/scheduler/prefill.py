"""Admission: which waiting prompts are computed next, and how much of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch

from ..core import Batch, ChunkedReq, Req
from ..kvcache import BaseCacheHandle
from ..message import UserMsg
from ..utils import cdiv, trace
from .cache import CacheManager
from .config import Policy
from .decode import DecodeManager
from .table import TableManager
from .utils import PendingReq, recorded_admission

# Each request that lpm compares is looked up in the cache, in every step: those behind wait in line.
LPM_WINDOW = 128


@dataclass
class PrefillAdder:
    """Fills one prefill batch, request by request.

    A request is admitted for its worst case, all of `max_tokens`, so that a running request never waits for a
    page. With `optimistic` it is admitted for its prompt and the first step after it.
    """

    token_budget: int  # tokens that this batch may still compute
    reserved_size: int  # tokens promised to running requests and to those in this batch
    cache_manager: CacheManager
    table_manager: TableManager
    optimistic: bool = False

    def try_add_one(self, pending_req: PendingReq) -> Req | None:
        """Let the batch compute a request's prompt, or as much of it as the budget allows; None when it has
        to wait.
        """
        if self.token_budget == 0:
            self._refuse(pending_req, "token budget")
            return None
        chunked, reserved = pending_req.chunked_req, self.reserved_size
        if chunked is not None:
            if self.optimistic and not self._next_chunk_fits(pending_req, chunked.cached_len):
                self._refuse(pending_req, "memory")
                return None
            handle, table_idx, cached_len = chunked.cache_handle, chunked.table_idx, chunked.cached_len
        else:
            with recorded_admission(pending_req.uid):
                resource = self._try_allocate_one(self._promised(pending_req))
            if resource is None:
                self._refuse(pending_req, "memory" if self.table_manager.available_size else "table slots")
                return None
            (handle, table_idx), cached_len = resource, resource[0].cached_len
        req = self._add_one_req(pending_req, handle, table_idx, cached_len)
        req.prompt_len = pending_req.prompt_len
        if self.optimistic:
            self.reserved_size = reserved + pending_req.input_len - cached_len + self.cache_manager.page_size
        if chunked is None:
            trace.emit(
                "admitted",
                req=req.uid,
                slot=table_idx,
                cached_len=cached_len,
                extend_len=req.device_len - cached_len,
            )
        return req

    def _promised(self, pending_req: PendingReq) -> PendingReq:
        """The request with the output that it is admitted for."""
        if not self.optimistic:
            return pending_req
        return replace(pending_req, sampling_params=replace(pending_req.sampling_params, max_tokens=1))

    def _next_chunk_fits(self, pending_req: PendingReq, cached_len: int) -> bool:
        """Whether the pages for it are still there: running requests may have taken them meanwhile."""
        page_size = self.cache_manager.page_size
        end = min(pending_req.input_len, cached_len + self.token_budget)
        pages = cdiv(end, page_size) - cdiv(cached_len, page_size)
        return pages * page_size + self.reserved_size <= self.cache_manager.available_size

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
        """Charge an admitted request to the budgets and put what is computed now into the token pool.

        When the budget ends before the prompt does, the rest is computed by later batches. All of it is
        reserved now: it will need its pages, and there must be no other claim on them.
        """
        remain_len = pending_req.input_len - cached_len
        chunk_len = min(self.token_budget, remain_len)
        end = cached_len + chunk_len
        self.token_budget -= chunk_len
        # its last page may stay almost empty: page_size - 1 tokens that nobody else can use
        self.reserved_size += remain_len + pending_req.output_len + self.cache_manager.page_size - 1
        self.table_manager.token_pool[table_idx, cached_len:end] = pending_req.input_ids[cached_len:end]
        kind = ChunkedReq if chunk_len < remain_len else Req
        return kind(
            input_ids=pending_req.input_ids[:end],
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
    """The queue of waiting requests.

    `policy` says in which order they are admitted. A prompt that is computed in part comes before all others:
    it holds a row and pages, and the sooner it is done, the sooner they are of use.
    """

    cache_manager: CacheManager
    table_manager: TableManager
    decode_manager: DecodeManager
    pending_list: list[PendingReq] = field(default_factory=list)  # in the order of arrival
    policy: Policy = "fcfs"
    lpm_bound: int = 16
    optimistic: bool = False
    watermark: int = 1  # pages

    def __post_init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all requests."""
        self.pending_list.clear()
        self._steps = 0
        self._admissions = 0

    def add_one_req(self, msg: UserMsg) -> None:
        """Queue a request."""
        pending_req = PendingReq(msg.uid, msg.input_ids, msg.sampling_params, since=self._steps)
        self.pending_list.append(pending_req)
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
        self._steps += 1
        if not self.runnable:
            return None
        reqs = self._add(self._adder(prefill_budget), self._in_order())
        return Batch(reqs, "prefill") if reqs else None

    def waiting_tokens(self, token_budget: int) -> list[tuple[int, int]]:
        """Who would be admitted next, and how many tokens of each prompt are to be computed; in order, up to
        where the budget ends.
        """
        self._steps += 1
        waiting: list[tuple[int, int]] = []
        slots = self.table_manager.available_size
        room = self.cache_manager.available_size - self._reserved_size
        for pending_req in self._in_order():
            slots -= pending_req.chunked_req is None
            if token_budget <= 0 or slots < 0 or room < 0:  # nobody behind is admitted
                break
            remain_len = pending_req.input_len - self._computed_len(pending_req)
            waiting.append((pending_req.uid, remain_len))
            token_budget -= remain_len
            room -= remain_len
        return waiting

    def schedule_planned(self, plan: Iterable[tuple[int, int]]) -> list[Req]:
        """Admit those that a plan names, each with the tokens that it gives, up to the first that does not
        fit.
        """
        pending_reqs = {pending_req.uid: pending_req for pending_req in self.pending_list}
        adder, reqs = self._adder(0), list[Req]()
        for uid, tokens in plan:
            adder.token_budget = tokens
            added = self._add(adder, [pending_reqs[uid]])
            if not added:
                break
            reqs += added
        return reqs

    def put_back(self, req: Req, input_ids: list[int], max_tokens: int) -> None:
        """Queue a retracted request in front of all others. `input_ids` are all of its tokens, `max_tokens`
        what it may still add.

        It does not come back at once: it needs as many pages as it gave, and others take some of these.
        """
        self.pending_list = [other for other in self.pending_list if other.uid != req.uid]
        pending_req = PendingReq(
            req.uid,
            torch.tensor(input_ids, dtype=torch.int32),
            replace(req.sampling_params, max_tokens=max_tokens),
            req.prompt_len,
            since=self._steps - self.lpm_bound,
        )
        self.pending_list.insert(0, pending_req)

    def abort_req(self, uid: int) -> ChunkedReq | None:
        """Take a request out of the queue. Returns what holds its row and pages, if it has any."""
        for index, pending_req in enumerate(self.pending_list):
            if pending_req.uid == uid:
                del self.pending_list[index]
                trace.emit("abort", req=uid)
                return pending_req.chunked_req
        return None

    @property
    def chunked(self) -> list[PendingReq]:
        """The requests whose prompt is computed in part."""
        return [req for req in self.pending_list if req.chunked_req is not None]

    @property
    def runnable(self) -> bool:
        return len(self.pending_list) > 0

    @property
    def _reserved_size(self) -> int:
        """Tokens promised to running requests."""
        if not self.optimistic:
            return self.decode_manager.inflight_tokens
        running = len(self.decode_manager.running_reqs)
        # each may need a page in the next step; where nobody runs, one request may have all
        return (self.watermark + running if running else 0) * self.cache_manager.page_size

    def _adder(self, token_budget: int) -> PrefillAdder:
        return PrefillAdder(
            token_budget, self._reserved_size, self.cache_manager, self.table_manager, self.optimistic
        )

    def _add(self, adder: PrefillAdder, pending_reqs: Iterable[PendingReq]) -> list[Req]:
        """Let an adder have requests, up to the first that it refuses."""
        reqs: list[Req] = []
        done: set[int] = set()
        for pending_req in pending_reqs:
            req = adder.try_add_one(pending_req)
            if req is None:
                break
            if pending_req.chunked_req is None:
                self._admissions += 1
                req.admission = self._admissions
            else:
                req.admission = pending_req.chunked_req.admission
            pending_req.chunked_req = req if isinstance(req, ChunkedReq) else None
            if pending_req.chunked_req is None:
                done.add(req.uid)
            reqs.append(req)
        if done:
            self.pending_list = [req for req in self.pending_list if req.uid not in done]
        return reqs

    def _in_order(self) -> list[PendingReq]:
        """The waiting requests as the policy wants them admitted."""
        if self.policy == "fcfs":
            return self.pending_list  # one that is computed in part came first
        started = self.chunked
        if not started and self.table_manager.available_size == 0:
            return self.pending_list  # nobody will be admitted
        others = [req for req in self.pending_list if req.chunked_req is None]
        compared = {req.uid: req for req in others[:LPM_WINDOW]}
        matched = {uid: self._computed_len(req) for uid, req in compared.items()}
        waited = {uid: self._steps - req.since for uid, req in compared.items()}
        order = lpm_order(list(compared), matched, waited, self.lpm_bound)
        return started + [compared[uid] for uid in order] + others[LPM_WINDOW:]

    def _computed_len(self, pending_req: PendingReq) -> int:
        """Tokens of a prompt that need not be computed any more."""
        if pending_req.chunked_req is not None:
            return pending_req.chunked_req.cached_len
        with recorded_admission(pending_req.uid):
            return self.cache_manager.match_req(pending_req).cuda_handle.cached_len


def lpm_order(
    pending: Sequence[int], matched: Mapping[int, int], waited: Mapping[int, int], bound: int
) -> list[int]:
    """The longest prefix match first, but nobody waits for ever.

    Args:
        pending: uids in the order of arrival.
        matched: tokens of each one's prompt that are cached.
        waited: steps that each has waited.
        bound: who has waited so long or longer comes before all others, by arrival.

    Returns:
        The uids; equal matches by arrival.
    """
    late = [uid for uid in pending if waited[uid] >= bound]
    others = [uid for uid in pending if waited[uid] < bound]
    return late + sorted(others, key=lambda uid: -matched[uid])
