"""Facts about CacheManager: allocation, the four regions of cache_req, lazy freeing, the integrity check."""

import pytest
import torch

from minisgl.core import Req, SamplingParams
from minisgl.scheduler import CacheManager, PendingReq

WIDTH = 64


def make(num_pages: int, page_size: int = 1, cache_type: str = "radix", rows: int = 4) -> CacheManager:
    return CacheManager(num_pages, page_size, torch.zeros((rows, WIDTH), dtype=torch.int32), cache_type)


def start(manager: CacheManager, ids: list[int], row: int, output_len: int = 8) -> Req:
    """Admit a request as the scheduler does: match, lock, fill the hit prefix into its row."""
    tokens = torch.tensor(ids, dtype=torch.int32)
    handle = manager.match_req(PendingReq(row, tokens, SamplingParams())).cuda_handle
    manager.lock(handle)
    manager.page_table[row, : handle.cached_len] = handle.get_matched_indices()
    return Req(tokens, row, handle.cached_len, output_len, row, SamplingParams(), handle)


def forward(manager: CacheManager, *reqs: Req) -> None:
    manager.allocate_paged(reqs)
    for req in reqs:
        req.complete_one()
        req.append_host(torch.tensor([300 + req.uid], dtype=torch.int32))


def row_of(manager: CacheManager, req: Req) -> list[int]:
    return manager.page_table[req.table_idx, : req.cached_len].tolist()


def free(manager: CacheManager) -> list[int]:
    return sorted(manager.free_slots.tolist())


def test_free_slots_hold_each_page_s_first_location() -> None:
    manager = make(num_pages=4, page_size=4)
    assert manager.free_slots.tolist() == [0, 4, 8, 12]
    assert manager.free_slots.dtype == torch.int32
    assert manager.available_size == 16


def test_allocate_paged_takes_a_page_only_when_one_begins() -> None:
    manager = make(num_pages=8, page_size=4)
    req = start(manager, [1] * 6, row=2)
    manager.allocate_paged([req])
    assert manager.page_table[2, :8].tolist() == list(range(8))
    free_pages = [len(manager.free_slots)]
    for _ in range(3):
        req.complete_one()
        manager.allocate_paged([req])
        free_pages.append(len(manager.free_slots))
    assert (req.device_len, free_pages) == (9, [6, 6, 6, 5])
    assert manager.page_table[2, 8] % 4 == 0


def test_a_request_in_mid_page_gets_one_page_for_nine_tokens() -> None:
    manager = make(num_pages=8, page_size=4)
    req = start(manager, [1] * 9, row=0)
    req.cached_len = 6
    manager.allocate_paged([req])
    assert len(manager.free_slots) == 7
    assert manager.page_table[0, :12].tolist() == [0] * 8 + [0, 1, 2, 3]


def test_requests_share_one_allocation_in_order() -> None:
    manager = make(num_pages=8, page_size=2)
    first, second = start(manager, [1] * 3, row=3), start(manager, [2] * 2, row=1)
    manager.allocate_paged([first, second])
    assert manager.page_table[3, :4].tolist() == [0, 1, 2, 3]
    assert manager.page_table[1, :2].tolist() == [4, 5]
    assert manager.free_slots.tolist() == [6, 8, 10, 12, 14]


def test_allocate_evicts_when_short() -> None:
    manager = make(num_pages=4, page_size=2)
    req = start(manager, [1, 2, 3, 4, 5], row=0)
    forward(manager, req)
    manager.cache_req(req, finished=True)
    assert free(manager) == [4, 6] and manager.available_size == 8
    assert sorted(manager._allocate(4).tolist()) == [0, 2, 4, 6]
    assert manager.available_size == 0


def test_an_insufficient_eviction_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="cannot evict 2"):
        make(num_pages=2)._allocate(4)
    with pytest.raises(RuntimeError, match="cannot evict 2"):
        make(num_pages=2, cache_type="naive")._allocate(4)


def test_an_eviction_that_frees_too_little_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    manager = make(num_pages=2)
    monkeypatch.setattr(manager.prefix_cache, "evict", lambda size: torch.tensor([8], dtype=torch.int32))
    with pytest.raises(RuntimeError, match="4 pages are needed"):
        manager._allocate(4)


def test_match_leaves_the_last_token_to_compute() -> None:
    manager = make(num_pages=16)
    req = start(manager, [1, 2, 3, 4], row=0)
    forward(manager, req)
    manager.cache_req(req, finished=True)
    again = start(manager, [1, 2, 3, 4], row=1)
    assert (again.cached_len, again.extend_len) == (3, 1)
    single = PendingReq(9, torch.tensor([1], dtype=torch.int32), SamplingParams())
    assert manager.match_req(single).cuda_handle.cached_len == 0


def test_an_empty_prompt_is_refused() -> None:
    with pytest.raises(ValueError, match="empty"):
        make(4).match_req(PendingReq(7, torch.empty(0, dtype=torch.int32), SamplingParams()))


@pytest.mark.parametrize("page_size", [1, 4])
def test_a_finished_request_leaves_whole_pages_in_the_cache(page_size: int) -> None:
    manager = make(num_pages=32 // page_size, page_size=page_size)
    req = start(manager, list(range(10)), row=0)
    forward(manager, req)
    manager.cache_req(req, finished=True)
    whole = 10 // page_size * page_size
    assert manager.prefix_cache.size_info == (whole, 0)
    assert len(manager.free_slots) == (32 - whole) // page_size
    manager.check_integrity()


def test_a_request_that_goes_on_keeps_its_tail() -> None:
    manager = make(num_pages=8, page_size=4)
    req = start(manager, list(range(10)), row=0)
    forward(manager, req)
    manager.cache_req(req, finished=False)
    assert req.cache_handle.cached_len == 8
    assert manager.prefix_cache.size_info == (0, 8)
    assert free(manager) == [12, 16, 20, 24, 28]  # pages 0, 4 cached, 8 the request's
    manager.cache_req(req, finished=True)
    assert free(manager) == [8, 12, 16, 20, 24, 28]
    manager.check_integrity()


@pytest.mark.parametrize("page_size", [1, 4])
def test_the_row_of_a_duplicate_moves_to_the_cache_s_copy(page_size: int) -> None:
    """Official issue 142: both prompts of one batch are computed; the second must not read its freed copy."""
    manager = make(num_pages=32 // page_size, page_size=page_size)
    ids = list(range(8))
    first, second = start(manager, ids, row=0), start(manager, ids, row=1)
    forward(manager, first, second)
    with manager.lazy_free_region():
        manager.cache_req(first, finished=False)
        manager.cache_req(second, finished=False)
    assert row_of(manager, first) == row_of(manager, second) == list(range(8))
    assert len(manager.free_slots) == 24 // page_size
    assert set(range(8, 16, page_size)) <= set(free(manager))
    assert manager.prefix_cache.size_info == (0, 8)
    manager.cache_req(first, finished=True)
    manager.cache_req(second, finished=True)
    assert manager.prefix_cache.size_info == (8, 0)
    manager.check_integrity()


def test_only_the_part_inserted_meanwhile_is_freed() -> None:
    manager = make(num_pages=40, page_size=2)
    earlier = start(manager, [1, 2, 3, 4], row=0)
    forward(manager, earlier)
    manager.cache_req(earlier, finished=True)  # [1, 2, 3, 4] at 0-3
    first = start(manager, [1, 2, 3, 4, 5, 6, 7], row=1)
    second = start(manager, [1, 2, 3, 4, 5, 6, 8, 8, 9], row=2)
    forward(manager, first, second)
    assert row_of(manager, second) == [0, 1, 2, 3, 8, 9, 10, 11, 12]
    manager.cache_req(first, finished=False)
    manager.cache_req(second, finished=False)
    assert row_of(manager, second) == [0, 1, 2, 3, 4, 5, 10, 11, 12]
    assert 8 in free(manager) and 12 not in free(manager)
    manager.cache_req(second, finished=True)
    manager.cache_req(first, finished=True)
    manager.check_integrity()


def test_with_the_naive_cache_everything_returns_at_the_end() -> None:
    manager = make(num_pages=8, page_size=4, cache_type="naive")
    req = start(manager, list(range(10)), row=0)
    forward(manager, req)
    manager.cache_req(req, finished=False)
    assert len(manager.free_slots) == 5
    manager.cache_req(req, finished=True)
    assert len(manager.free_slots) == 8
    manager.check_integrity()


def test_lazy_freeing_joins_once_at_the_end() -> None:
    manager = make(num_pages=8)
    pages = manager._allocate(6)
    with manager.lazy_free_region():
        manager._free(pages[:2])
        with manager.lazy_free_region():
            manager._free(pages[2:4])
        assert len(manager.free_slots) == 2
    assert len(manager.free_slots) == 6
    with manager.lazy_free_region():
        manager._free(pages[4:])
    assert free(manager) == list(range(8))


def test_lazy_freeing_loses_nothing_when_the_body_raises() -> None:
    manager = make(num_pages=8)
    pages = manager._allocate(6)
    with pytest.raises(KeyError), manager.lazy_free_region():
        manager._free(pages[:3])
        with manager.lazy_free_region():
            manager._free(pages[3:])
            raise KeyError
    assert free(manager) == list(range(8))
    manager._free(manager._allocate(1))
    assert free(manager) == list(range(8))


def test_what_is_freed_lazily_does_not_follow_its_row() -> None:
    manager = make(num_pages=8)
    req = start(manager, [1, 2, 3], row=0)
    manager.allocate_paged([req])
    with manager.lazy_free_region():
        manager._free(manager.page_table[0, :3])
        manager.page_table[0].fill_(63)
    assert free(manager) == list(range(8))


def test_the_integrity_check_counts_pages() -> None:
    manager = make(num_pages=10)
    req = start(manager, [1, 2, 3], row=0)
    forward(manager, req)
    manager.cache_req(req, finished=True)
    manager.check_integrity()
    manager._allocate(3)
    with pytest.raises(RuntimeError, match=r"integrity.*4 free pages \+ 3 cached pages != 10 pages"):
        manager.check_integrity()


def test_the_integrity_check_sees_a_page_with_two_owners() -> None:
    manager = make(num_pages=10)
    req = start(manager, [1, 2, 3], row=0)
    forward(manager, req)
    manager.cache_req(req, finished=True)
    manager.free_slots[0] = 1  # cached; page 3 is lost, so the counts still balance
    with pytest.raises(RuntimeError, match="integrity"):
        manager.check_integrity()


def test_the_integrity_check_sees_a_torn_page() -> None:
    manager = make(num_pages=4, page_size=4)
    manager.free_slots[1] = 5
    with pytest.raises(RuntimeError, match="integrity"):
        manager.check_integrity()


def test_reset_takes_everything_back() -> None:
    manager = make(num_pages=8)
    req = start(manager, [1, 2, 3], row=0)
    forward(manager, req)
    manager.cache_req(req, finished=False)
    manager._allocate(2)
    manager.reset()
    manager.check_integrity()
    assert manager.available_size == 8
