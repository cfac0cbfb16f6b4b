"""Random use of the radix cache against a simple model: a dict from every cached prefix to its page."""

import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from minisgl.kvcache import create_prefix_cache

# Few tokens and short sequences, so that prefixes are shared, split and inserted again.
TOKENS = st.lists(st.integers(0, 2), min_size=0, max_size=14)


class RadixMachine(RuleBasedStateMachine):
    """`pages` maps each cached sequence of whole pages to the first location of its last page."""

    @initialize(page_size=st.sampled_from([1, 2, 4]))
    def start(self, page_size: int) -> None:
        self.page_size = page_size
        self.cache = create_prefix_cache(device=torch.device("cpu"), type="radix", page_size=page_size)
        self.pages: dict[tuple[int, ...], int] = {}
        self.locked: list[tuple[tuple[int, ...], object]] = []
        self.next_page = 0

    def prefixes(self, ids) -> list[tuple[int, ...]]:
        whole = len(ids) // self.page_size * self.page_size
        return [tuple(ids[:end]) for end in range(self.page_size, whole + 1, self.page_size)]

    def cached(self, ids) -> list[tuple[int, ...]]:
        found = []
        for prefix in self.prefixes(ids):
            if prefix not in self.pages:
                break
            found.append(prefix)
        return found

    def expected_locations(self, prefixes) -> list[int]:
        return [self.pages[prefix] + offset for prefix in prefixes for offset in range(self.page_size)]

    @rule(ids=TOKENS, lock=st.booleans())
    def match(self, ids: list[int], lock: bool) -> None:
        handle = self.cache.match_prefix(torch.tensor(ids, dtype=torch.int32)).cuda_handle
        found = self.cached(ids)
        assert handle.cached_len == len(found) * self.page_size
        assert handle.get_matched_indices().tolist() == self.expected_locations(found)
        if lock:
            self.cache.lock_handle(handle)
            self.locked.append((found[-1] if found else (), handle))

    @rule(ids=TOKENS, lock=st.booleans())
    def insert(self, ids: list[int], lock: bool) -> None:
        pages = range(self.next_page, self.next_page + len(ids) // self.page_size + 1)
        self.next_page = pages.stop
        flat = [page * self.page_size + offset for page in pages for offset in range(self.page_size)]
        already = len(self.cached(ids)) * self.page_size
        cached_len, handle = self.cache.insert_prefix(
            torch.tensor(ids, dtype=torch.int32), torch.tensor(flat[: len(ids)], dtype=torch.int32)
        )
        assert cached_len == already
        for index, prefix in enumerate(self.prefixes(ids)):
            self.pages.setdefault(prefix, pages[index] * self.page_size)
        prefixes = self.prefixes(ids)
        assert handle.cached_len == len(prefixes) * self.page_size
        assert handle.get_matched_indices().tolist() == self.expected_locations(prefixes)
        if lock:
            self.cache.lock_handle(handle)
            self.locked.append((prefixes[-1] if prefixes else (), handle))

    @precondition(lambda self: self.locked)
    @rule(data=st.data())
    def unlock(self, data) -> None:
        index = data.draw(st.integers(0, len(self.locked) - 1))
        _, handle = self.locked.pop(index)
        self.cache.lock_handle(handle, unlock=True)

    def protected(self) -> set[tuple[int, ...]]:
        return {prefix for sequence, _ in self.locked for prefix in self.prefixes(sequence)}

    @rule(size=st.integers(0, 12))
    def evict(self, size: int) -> None:
        evictable = self.cache.size_info.evictable_size
        if size > evictable:
            try:
                self.cache.evict(size)
            except RuntimeError:
                assert self.cache.size_info.evictable_size == evictable
                return
            raise AssertionError("evicted more than is evictable")
        freed = self.cache.evict(size).tolist()
        assert size <= len(freed) <= evictable and len(set(freed)) == len(freed)
        owner = {first: prefix for prefix, first in self.pages.items()}
        gone = {owner[first] for first in freed[:: self.page_size]}
        assert len(gone) * self.page_size == len(freed)
        assert not gone & self.protected()
        for prefix in gone:
            del self.pages[prefix]

    @invariant()
    def agrees_with_the_model(self) -> None:
        self.cache.check_integrity()
        protected = len(self.protected()) * self.page_size
        assert self.cache.size_info.protected_size == protected
        assert self.cache.size_info.total_size == len(self.pages) * self.page_size
        # no page is cached whose prefix is gone: it could never be found again
        for prefix in self.pages:
            assert len(prefix) == self.page_size or prefix[: -self.page_size] in self.pages
        for sequence, handle in self.locked:
            assert handle.get_matched_indices().tolist() == self.expected_locations(self.prefixes(sequence))


RadixMachine.TestCase.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
TestRadixMachine = RadixMachine.TestCase
