"""Who is admitted: PrefillAdder, PrefillManager, TableManager."""

import pytest
import torch

from minisgl.core import Req, SamplingParams
from minisgl.message import UserMsg
from minisgl.scheduler import CacheManager, DecodeManager, PrefillAdder, PrefillManager, TableManager
from minisgl.scheduler.utils import PendingReq

ROWS, WIDTH = 8, 128


class Managers:
    """All managers over a page table, without an engine."""

    def __init__(
        self, num_pages: int, page_size: int = 1, cache_type: str = "radix", rows: int = ROWS
    ) -> None:
        page_table = torch.full((rows + 1, WIDTH), -1, dtype=torch.int32)
        self.cache = CacheManager(num_pages, page_size, page_table, cache_type)
        self.table = TableManager(rows, page_table)
        self.decode = DecodeManager(page_size)
        self.prefill = PrefillManager(self.cache, self.table, self.decode)

    def adder(self, reserved: int = 0, budget: int = 1000) -> PrefillAdder:
        return PrefillAdder(budget, reserved, self.cache, self.table)

    def cache_prompt(self, ids: list[int]) -> None:
        """Leave a prompt's KV in the prefix cache."""
        locations = self.cache._page_to_token(self.cache._allocate(len(ids) // self.cache.page_size))
        self.cache.prefix_cache.insert_prefix(torch.tensor(ids, dtype=torch.int32), locations)

    def queue(self, uid: int, length: int, output: int) -> None:
        ids = torch.arange(100 * uid, 100 * uid + length, dtype=torch.int32)
        self.prefill.add_one_req(UserMsg(uid, ids, SamplingParams(max_tokens=output)))


def pending(ids: list[int], output: int, uid: int = 0) -> PendingReq:
    return PendingReq(uid, torch.tensor(ids, dtype=torch.int32), SamplingParams(max_tokens=output))


def test_without_a_slot_nobody_is_admitted() -> None:
    managers = Managers(num_pages=64, rows=1)
    managers.table.allocate()
    assert managers.adder()._try_allocate_one(pending([1, 2], 4)) is None


@pytest.mark.parametrize(("pages", "admitted"), [(13, True), (12, False)])
def test_the_worst_case_must_fit(pages: int, admitted: bool) -> None:
    managers = Managers(num_pages=pages)
    result = managers.adder()._try_allocate_one(pending([1, 2, 3, 4, 5], 8))
    assert (result is not None) == admitted


def test_what_is_reserved_counts() -> None:
    managers = Managers(num_pages=20)
    assert managers.adder(reserved=8)._try_allocate_one(pending([1, 2, 3, 4, 5], 8)) is None
    assert managers.adder(reserved=7)._try_allocate_one(pending([1, 2, 3, 4, 5], 8)) is not None


def test_the_hit_is_evictable_only_until_it_is_locked() -> None:
    """10 free, 6 evictable, hit 6, prompt 10, output 8: 12 <= 16, but after the lock 12 > 10."""
    managers = Managers(num_pages=16)
    managers.cache_prompt([1, 2, 3, 4, 5, 6])
    assert (len(managers.cache.free_slots), managers.cache.available_size) == (10, 16)
    assert managers.adder()._try_allocate_one(pending([1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 8)) is None
    assert managers.cache.prefix_cache.size_info == (6, 0)
    assert managers.table.available_size == ROWS


def test_an_admitted_request_finds_the_hit_prefix_in_its_row() -> None:
    managers = Managers(num_pages=32, page_size=2)
    managers.cache._allocate(3)
    managers.cache_prompt([1, 2, 3, 4])
    result = managers.adder()._try_allocate_one(pending([1, 2, 3, 4, 5], 8))
    assert result is not None
    handle, slot = result
    assert handle.cached_len == 4 and slot == 0
    assert managers.table.token_pool[slot, :4].tolist() == [1, 2, 3, 4]
    assert managers.table.page_table[slot, :5].tolist() == [6, 7, 8, 9, -1]
    assert managers.cache.prefix_cache.size_info == (0, 4)
    assert managers.table.available_size == ROWS - 1


def test_one_batch_reserves_half_full_last_pages() -> None:
    """Defect 11: with 3 pages of 4 tokens, two requests of 2 + 4 tokens need 4 pages."""
    managers = Managers(num_pages=3, page_size=4)
    managers.queue(0, length=2, output=4)
    managers.queue(1, length=2, output=4)
    batch = managers.prefill.schedule_next_batch(1000)
    assert batch is not None and [req.uid for req in batch.reqs] == [0]
    assert [req.uid for req in managers.prefill.pending_list] == [1]


def test_the_four_of_the_64_token_example_are_admitted() -> None:
    managers = Managers(num_pages=64, cache_type="naive")
    for uid, length in enumerate([5, 5, 4, 15, 5]):
        managers.queue(uid, length, output=8)
    batch = managers.prefill.schedule_next_batch(1000)
    assert batch is not None and batch.is_prefill
    assert [req.uid for req in batch.reqs] == [0, 1, 2, 3]
    managers.cache.allocate_paged(batch.reqs)
    for req in batch.reqs:
        req.complete_one()
    managers.decode.filter_reqs(batch.reqs)
    assert (len(managers.cache.free_slots), managers.decode.inflight_tokens) == (35, 28)
    assert managers.prefill.schedule_next_batch(1000) is None


def test_the_token_budget_ends_a_batch() -> None:
    managers = Managers(num_pages=64)
    for uid in range(3):
        managers.queue(uid, length=4, output=1)
    batch = managers.prefill.schedule_next_batch(8)
    assert batch is not None and [req.uid for req in batch.reqs] == [0, 1]
    batch = managers.prefill.schedule_next_batch(8)
    assert batch is not None and [req.uid for req in batch.reqs] == [2]
    assert managers.prefill.schedule_next_batch(8) is None


def test_nobody_overtakes() -> None:
    managers = Managers(num_pages=20)
    managers.queue(0, length=5, output=5)
    managers.queue(1, length=10, output=10)
    managers.queue(2, length=1, output=1)
    batch = managers.prefill.schedule_next_batch(1000)
    assert batch is not None and [req.uid for req in batch.reqs] == [0]


def test_an_admitted_request_has_its_prompt_in_the_token_pool() -> None:
    managers = Managers(num_pages=20)
    managers.cache_prompt([1, 2, 3])
    adder = managers.adder(reserved=2, budget=10)
    req = adder.try_add_one(pending([1, 2, 3, 4, 5], 6, uid=9))
    assert req is not None
    assert (req.uid, req.cached_len, req.device_len, req.max_device_len) == (9, 3, 5, 11)
    assert managers.table.token_pool[req.table_idx, :5].tolist() == [1, 2, 3, 4, 5]
    assert (adder.token_budget, adder.reserved_size) == (8, 10)


def test_a_waiting_request_can_be_taken_back() -> None:
    managers = Managers(num_pages=20)
    managers.queue(0, 2, 2)
    managers.queue(1, 2, 2)
    assert managers.prefill.abort_req(0) is None  # it held neither row nor page
    assert managers.prefill.abort_req(7) is None
    assert [req.uid for req in managers.prefill.pending_list] == [1] and managers.prefill.runnable


def test_rows_are_handed_out_lowest_first_and_only_once() -> None:
    table = TableManager(3, torch.zeros((4, 8), dtype=torch.int32))
    assert [table.allocate() for _ in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="all 3 rows"):
        table.allocate()
    table.free(1)
    with pytest.raises(RuntimeError, match=r"row 1 .* freed twice"):
        table.free(1)
    assert (table.available_size, table.allocate()) == (1, 1)
    assert table.token_pool.shape == (4, 8) and table.token_pool.dtype == torch.int32


def running(uid: int, row: int, input_len: int = 3, output_len: int = 5) -> Req:
    req = Req(torch.zeros(input_len, dtype=torch.int32), row, 0, output_len, uid, SamplingParams(), None)  # type: ignore[arg-type]
    req.complete_one()
    return req


def test_a_decode_batch_is_in_ascending_uid() -> None:
    decode = DecodeManager(page_size=1)
    for uid in (7, 3, 11, 5, 2):
        decode.filter_reqs([running(uid, row=20 - uid)])
    batch = decode.schedule_next_batch()
    assert batch is not None and batch.is_decode
    assert [req.uid for req in batch.reqs] == [2, 3, 5, 7, 11]


def test_without_running_requests_there_is_no_batch() -> None:
    decode = DecodeManager(page_size=1)
    assert decode.schedule_next_batch() is None and not decode.runnable
    assert decode.inflight_tokens == 0


@pytest.mark.parametrize(("page_size", "tokens"), [(1, 8), (16, 8 + 2 * 15)])
def test_inflight_tokens_count_the_last_pages(page_size: int, tokens: int) -> None:
    decode = DecodeManager(page_size)
    decode.filter_reqs([running(0, 0), running(1, 1)])
    assert decode.inflight_tokens == tokens


def test_a_request_without_a_token_to_go_is_dropped() -> None:
    decode = DecodeManager(page_size=1)
    req = running(0, 0, output_len=1)
    assert not req.can_decode
    decode.filter_reqs([req, running(1, 1)])
    assert {r.uid for r in decode.running_reqs} == {1}
    decode.remove_req(req)  # it has left already
    assert decode.abort_req(5) is None
    aborted = decode.abort_req(1)
    assert aborted is not None and aborted.uid == 1 and not decode.runnable
