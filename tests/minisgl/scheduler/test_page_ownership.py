"""Random requests on CacheManager: each page has one owner, and each row reads the KV of its own tokens.

The KV pool is a dict from a location to the sequence whose last token was computed there. So a row that
points at a page with another owner is seen at once, even where all page counts balance.
"""

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from minisgl.core import ChunkedReq, Req, SamplingParams
from minisgl.scheduler import CacheManager, DecodeManager, PrefillManager, TableManager
from minisgl.scheduler.utils import PendingReq
from minisgl.utils import cdiv

ROWS, WIDTH = 4, 32
PROMPTS = st.lists(st.integers(0, 1), min_size=1, max_size=14)


class OwnershipMachine(RuleBasedStateMachine):
    @initialize(
        page_size=st.sampled_from([1, 2, 4]),
        tokens=st.sampled_from([24, 48]),
        cache=st.sampled_from(["radix"] * 3 + ["naive"]),
    )
    def start(self, page_size: int, tokens: int, cache: str) -> None:
        self.page_size = page_size
        page_table = torch.zeros((ROWS + 1, WIDTH), dtype=torch.int32)
        self.cache_manager = CacheManager(tokens // page_size, page_size, page_table, cache)
        self.table_manager = TableManager(ROWS, page_table)
        self.decode_manager = DecodeManager(page_size)
        self.prefill_manager = PrefillManager(self.cache_manager, self.table_manager, self.decode_manager)
        self.uid = 0
        self.kv: dict[int, tuple[int, ...]] = {}
        self.live: list[Req] = []

    @rule(prompt=PROMPTS, output=st.integers(1, 6))
    def queue(self, prompt: list[int], output: int) -> None:
        ids = torch.tensor(prompt, dtype=torch.int32)
        pending = PendingReq(self.uid, ids, SamplingParams(max_tokens=output))
        self.prefill_manager.pending_list.append(pending)
        self.uid += 1

    @rule(budget=st.integers(1, 40), token=st.integers(0, 1), ends=st.sets(st.integers(0, 3), max_size=1))
    def prefill(self, budget: int, token: int, ends: set[int]) -> None:
        batch = self.prefill_manager.schedule_next_batch(budget)
        if batch is None:
            return
        uids = {req.uid for req in batch.reqs}
        self.live = [
            req for req in self.live if req.uid not in uids
        ] + batch.reqs  # one may go on with a part
        self.step(batch, token, ends)

    @rule(token=st.integers(0, 1), ends=st.sets(st.integers(0, 3), max_size=2))
    def decode(self, token: int, ends: set[int]) -> None:
        batch = self.decode_manager.schedule_next_batch()
        if batch is not None:
            self.step(batch, token, ends)

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def abort(self, data) -> None:
        req = data.draw(st.sampled_from(self.live))
        manager = self.prefill_manager if isinstance(req, ChunkedReq) else self.decode_manager
        assert manager.abort_req(req.uid) is req
        self.end(req)

    def step(self, batch, token: int, ends: set[int]) -> None:
        self.cache_manager.allocate_paged(batch.reqs)
        for req in batch.reqs:
            self.compute(req)
            req.complete_one()
        self.decode_manager.filter_reqs(batch.reqs)
        with self.cache_manager.lazy_free_region():
            for index, req in enumerate(batch.reqs):
                if isinstance(req, ChunkedReq):
                    continue
                req.append_host(torch.tensor([token], dtype=torch.int32))
                if not req.can_decode or index in ends:
                    self.decode_manager.remove_req(req)
                    self.end(req)
                elif batch.is_prefill:
                    self.cache_manager.cache_req(req, finished=False)

    def compute(self, req: Req) -> None:
        """What a forward does: write the new positions, then read the whole row."""
        ids, row = req.input_ids.tolist(), self.row(req, req.device_len)
        for position in range(req.cached_len, req.device_len):
            self.kv[row[position]] = tuple(ids[: position + 1])
        self.check_row(req, req.device_len)

    def end(self, req: Req) -> None:
        self.cache_manager.cache_req(req, finished=True)
        self.table_manager.free(req.table_idx)
        self.live.remove(req)

    def row(self, req: Req, length: int) -> list[int]:
        return self.cache_manager.page_table[req.table_idx, :length].tolist()

    def check_row(self, req: Req, length: int) -> None:
        ids = req.input_ids.tolist()
        for position, location in enumerate(self.row(req, length)):
            assert self.kv[location] == tuple(ids[: position + 1])

    @invariant()
    def every_page_has_one_owner(self) -> None:
        size = self.page_size
        owners = self.cache_manager.free_slots.tolist()
        cached = set(self.cache_manager.prefix_cache.cached_locations().tolist())
        owners += [location for location in cached if location % size == 0]
        for req in self.live:
            held = req.cache_handle.cached_len
            row = self.row(req, cdiv(req.cached_len, size) * size)
            assert set(row[:held]) <= cached
            owners += row[held::size]
        assert sorted(owners) == [page * size for page in range(self.cache_manager.num_pages)]

    @invariant()
    def every_row_reads_its_own_tokens(self) -> None:
        for req in self.live:
            self.check_row(req, req.cached_len)

    @invariant()
    def the_cache_is_sound(self) -> None:
        self.cache_manager.prefix_cache.check_integrity()
        if not self.live:
            self.cache_manager.check_integrity()

    @invariant()
    def all_that_is_reserved_is_there(self) -> None:
        in_part = {req.uid: req.input_len + req.output_len for req in self.prefill_manager.chunked}
        running = [req for req in self.live if req.uid not in in_part]
        assert self.decode_manager.inflight_tokens >= sum(req.remain_len for req in running)
        ends = {req.uid: req.max_device_len for req in running} | in_part
        more = sum(
            cdiv(ends[req.uid] - 1, self.page_size) - cdiv(req.cached_len, self.page_size)
            for req in self.live
        )
        assert more * self.page_size <= self.cache_manager.available_size


OwnershipMachine.TestCase.settings = settings(
    max_examples=80,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
TestOwnership = OwnershipMachine.TestCase
