"""Chapter 8: who owns a page, and who is let in. The page shows some of these tests."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
import torch

from minisgl.core import Req, SamplingParams
from minisgl.kvcache import BaseCacheHandle, InsertResult, MatchResult, SizeInfo
from minisgl.scheduler.cache import CacheManager
from minisgl.scheduler.decode import DecodeManager
from minisgl.scheduler.prefill import PrefillAdder
from minisgl.scheduler.table import TableManager
from minisgl.scheduler.utils import PendingReq


def ids(first: int, length: int) -> torch.Tensor:
    """`length` different token ids."""
    return torch.arange(first, first + length, dtype=torch.int32)


Page = tuple[int, ...]  # a cached page, known by all tokens up to its end


@dataclass(frozen=True)
class PageHandle(BaseCacheHandle):
    pages: dict[Page, torch.Tensor]

    def get_matched_indices(self) -> torch.Tensor:
        return torch.cat([torch.empty(0, dtype=torch.int32), *self.pages.values()])


class PageCache:
    """The simplest prefix cache that shares pages: a dict of them."""

    def __init__(self, page_size: int) -> None:
        self.page_size = page_size
        self.pages: dict[Page, torch.Tensor] = {}
        self.locks: Counter[Page] = Counter()

    def match_prefix(self, input_ids: torch.Tensor) -> MatchResult:
        found: dict[Page, torch.Tensor] = {}
        for page in self._split(input_ids):
            if page not in self.pages:
                break
            found[page] = self.pages[page]
        return MatchResult(PageHandle(len(found) * self.page_size, found))

    def insert_prefix(self, input_ids: torch.Tensor, indices: torch.Tensor) -> InsertResult:
        cached_len = self.match_prefix(input_ids).cuda_handle.cached_len
        for page, locations in zip(self._split(input_ids), indices.split(self.page_size), strict=False):
            self.pages.setdefault(page, locations)
        return InsertResult(cached_len, self.match_prefix(input_ids).cuda_handle)

    def lock_handle(self, handle: PageHandle, unlock: bool = False) -> None:
        for page in handle.pages:
            self.locks[page] += -1 if unlock else 1

    def evict(self, size: int) -> torch.Tensor:
        # the longest first: without the pages before it, a page could never be found
        unlocked = sorted((page for page in self.pages if not self.locks[page]), key=len, reverse=True)
        count = -(-size // self.page_size)
        if count > len(unlocked):
            raise RuntimeError(f"cannot evict {size} tokens")
        return torch.cat([torch.empty(0, dtype=torch.int32), *map(self.pages.pop, unlocked[:count])])

    @property
    def size_info(self) -> SizeInfo:
        locked = sum(self.locks[page] > 0 for page in self.pages)
        return SizeInfo((len(self.pages) - locked) * self.page_size, locked * self.page_size)

    def cached_locations(self) -> torch.Tensor:
        return torch.cat([torch.empty(0, dtype=torch.int32), *self.pages.values()])

    def check_integrity(self) -> None:
        assert min(self.locks.values(), default=0) >= 0

    def _split(self, input_ids: torch.Tensor) -> list[Page]:
        """The whole pages of a sequence."""
        tokens = tuple(input_ids.tolist())
        return [tokens[:end] for end in range(self.page_size, len(tokens) + 1, self.page_size)]


def make_manager(num_pages: int, page_size: int, *, keeps_prefixes: bool = True) -> CacheManager:
    manager = CacheManager(num_pages, page_size, torch.zeros(5, 64, dtype=torch.int32), "naive")
    if keeps_prefixes:
        manager.prefix_cache = PageCache(page_size)
    return manager


def admit(manager: CacheManager, uid: int, row: int, prompt: torch.Tensor, output_len: int = 8) -> Req:
    """A request in its row, as admission leaves it: the hit prefix locked, its locations in the row."""
    pending = PendingReq(uid, prompt, SamplingParams(max_tokens=output_len))
    handle = manager.match_req(pending).cuda_handle
    manager.lock(handle)
    manager.page_table[row, : handle.cached_len] = handle.get_matched_indices()
    return Req(prompt, row, handle.cached_len, output_len, uid, pending.sampling_params, handle)


def forward(manager: CacheManager, *reqs: Req) -> None:
    """Pages for all, then a forward of which only the lengths matter here."""
    manager.allocate_paged(reqs)
    for req in reqs:
        req.complete_one()


def worked_example() -> tuple[CacheManager, Req, Req]:
    """r0 of 14 and r1 of 18 tokens, 14 of them equal, 4 cached before; r0 has handed its KV over."""
    manager = make_manager(10, 4)
    early = admit(manager, 9, 2, ids(100, 4))
    forward(manager, early)
    manager.cache_req(early, finished=True)
    r0, r1 = admit(manager, 0, 0, ids(100, 14)), admit(manager, 1, 1, ids(100, 18))
    forward(manager, r0, r1)
    manager.cache_req(r0, finished=False)
    return manager, r0, r1


def test_a_page_is_taken_only_when_the_last_one_is_full() -> None:
    manager = make_manager(8, 4, keeps_prefixes=False)
    req = admit(manager, 0, 2, ids(0, 6))
    forward(manager, req)
    assert manager.page_table[2, :8].tolist() == list(range(8))
    assert len(manager.free_slots) == 6
    for _ in range(2):  # device_len 7 and 8
        forward(manager, req)
        assert len(manager.free_slots) == 6
    forward(manager, req)  # device_len 9
    assert len(manager.free_slots) == 5
    assert manager.page_table[2, 8] % 4 == 0


def test_a_page_without_owner_is_found() -> None:
    manager = make_manager(8, 4)
    manager.check_integrity()
    manager._allocate(3)  # handed to nobody
    with pytest.raises(RuntimeError, match=r"integrity.*5 free pages.*0 cached pages.*8 pages"):
        manager.check_integrity()


def test_four_regions_of_a_request_that_goes_on() -> None:
    manager, _, r1 = worked_example()
    assert (r1.cache_handle.cached_len, r1.cached_len) == (4, 18)
    manager.cache_req(r1, finished=False)
    assert manager.free_slots.tolist() == [32, 36, 16, 20]  # B: given back
    assert sorted(manager.prefix_cache.cached_locations()[::4].tolist()) == [0, 4, 8, 24]  # A, C: the cache's
    assert manager.page_table[1, 16:18].tolist() == [28, 29]  # D: still its own
    assert r1.cache_handle.cached_len == 16
    assert manager.prefix_cache.size_info.protected_size == 16


def test_four_regions_of_a_finished_request() -> None:
    manager, r0, r1 = worked_example()
    manager.cache_req(r1, finished=True)
    assert sorted(manager.free_slots.tolist()) == [16, 20, 28, 32, 36]
    manager.cache_req(r0, finished=True)
    assert manager.prefix_cache.size_info.protected_size == 0
    manager.check_integrity()


def test_row_is_pointed_at_the_cached_copy() -> None:
    manager, _, r1 = worked_example()
    assert manager.page_table[1, 4:12].tolist() == list(range(16, 24))  # its own copy
    manager.cache_req(r1, finished=False)
    assert manager.page_table[1, 4:12].tolist() == list(range(4, 12))  # the cache's
    free = set(manager._page_to_token(manager.free_slots).tolist())
    assert free.isdisjoint(manager.page_table[1, : r1.cached_len].tolist())


def test_pages_given_back_in_a_region_come_once_even_after_an_error() -> None:
    manager = make_manager(4, 1, keeps_prefixes=False)
    pages = manager._allocate(4)
    with pytest.raises(KeyError), manager.lazy_free_region():
        manager._free(pages[:1])
        with manager.lazy_free_region():
            manager._free(pages[1:3])
        assert len(manager.free_slots) == 0  # the outer region is not over
        raise KeyError
    assert manager.free_slots.tolist() == [0, 1, 2]


def make_adder(manager: CacheManager, reserved: int = 0) -> PrefillAdder:
    return PrefillAdder(1000, reserved, manager, TableManager(4, manager.page_table))


def pending(uid: int, prompt: torch.Tensor, output_len: int) -> PendingReq:
    return PendingReq(uid, prompt, SamplingParams(max_tokens=output_len))


def test_worst_cases_of_61_fit_into_64_and_of_74_do_not() -> None:
    adder = make_adder(make_manager(64, 1, keeps_prefixes=False))
    lengths = [5, 5, 4, 15]
    for uid, length in enumerate(lengths):
        assert adder.try_add_one(pending(uid, ids(50 * uid, length), 8)) is not None
    assert adder.reserved_size == 61
    adder.table_manager.free(0)  # a row is there, so it is the pool that refuses
    assert adder._try_allocate_one(pending(4, ids(300, 5), 8)) is None


def test_the_lock_shrinks_what_is_available() -> None:
    manager = make_manager(16, 1)
    early = admit(manager, 9, 4, ids(100, 6))
    forward(manager, early)
    manager.cache_req(early, finished=True)
    assert (len(manager.free_slots), manager.available_size) == (10, 16)
    adder = make_adder(manager)
    assert adder._try_allocate_one(pending(0, ids(100, 10), 8)) is None  # 12 <= 16, locked 12 > 10
    assert manager.prefix_cache.size_info.protected_size == 0
    assert adder.table_manager.available_size == 4
    admitted = adder._try_allocate_one(pending(1, ids(100, 10), 6))  # 10 <= 10
    assert admitted is not None
    assert admitted[0].cached_len == 6
    assert manager.page_table[admitted[1], :6].tolist() == early_row(manager)
    assert adder.table_manager.token_pool[admitted[1], :6].tolist() == list(range(100, 106))


def early_row(manager: CacheManager) -> list[int]:
    """Where the six tokens of the first request lie: its old row still says so."""
    return manager.page_table[4, :6].tolist()


def test_the_half_full_last_page_is_reserved() -> None:
    adder = make_adder(make_manager(3, 4, keeps_prefixes=False))
    assert adder.try_add_one(pending(0, ids(0, 2), 4)) is not None
    assert adder.reserved_size == 9
    assert adder.try_add_one(pending(1, ids(50, 2), 4)) is None  # together they would need 4 pages


def test_running_requests_are_reserved_for() -> None:
    manager = make_manager(8, 16)
    req = admit(manager, 0, 0, ids(0, 16), output_len=2)
    forward(manager, req)
    assert (req.device_len, req.remain_len) == (17, 1)
    decode = DecodeManager(page_size=16)
    decode.filter_reqs([req])
    assert decode.inflight_tokens == 16  # that one token opens a page
