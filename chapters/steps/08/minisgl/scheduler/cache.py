"""Which page belongs to whom.

Every page of the KV pool is free, or owned by one request, or in the prefix cache; `CacheManager` moves pages
between these three.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from ..core import Req
from ..kvcache import BaseCacheHandle, MatchResult, create_prefix_cache
from ..utils import cdiv, trace
from .utils import PendingReq, index_tensor


class CacheManager:
    """Owner of the free pages and of the prefix cache.

    `page_table`, int32 [max_running_req + 1, max_seq_len], holds token locations. `free_slots`, int32 [free
    pages], holds each free page's first token location: 0, 4, 8, ... with pages of 4 tokens.
    """

    def __init__(self, num_pages: int, page_size: int, page_table: torch.Tensor, type: str) -> None:
        self.num_pages = num_pages
        self.page_size = page_size
        self.page_table = page_table
        self.device = page_table.device
        self._cache_type = type
        self._freed: list[torch.Tensor] = []  # page firsts that wait for the end of a lazy_free_region
        self.reset()

    def reset(self) -> None:
        """Take every page back, whoever owns it, and forget the cached prefixes."""
        self._lazy_depth = 0
        self._freed.clear()
        pages = torch.arange(self.num_pages, dtype=torch.int32, device=self.device)
        self.free_slots = pages * self.page_size
        self.prefix_cache = create_prefix_cache(
            device=self.device, type=self._cache_type, page_size=self.page_size
        )

    @property
    def available_size(self) -> int:
        """Tokens that could be allocated now: the free ones and those that the prefix cache may evict."""
        return len(self.free_slots) * self.page_size + self.prefix_cache.size_info.evictable_size

    def match_req(self, req: PendingReq) -> MatchResult:
        """Find the cached prefix of a prompt.

        The last token is left out: whatever is cached, one token must be computed to get logits.
        """
        if req.input_len == 0:
            raise ValueError(f"request {req.uid}: the prompt is empty")
        return self.prefix_cache.match_prefix(req.input_ids[: req.input_len - 1])

    def lock(self, handle: BaseCacheHandle) -> None:
        """Protect a cached prefix from eviction."""
        self.prefix_cache.lock_handle(handle, unlock=False)

    def unlock(self, handle: BaseCacheHandle) -> None:
        """Give one lock back."""
        self.prefix_cache.lock_handle(handle, unlock=True)

    def allocate_paged(self, reqs: Sequence[Req]) -> None:
        """Give each request the pages that its next forward will write, and enter them in its row.

        A request has the pages of `[0, cached_len)` already, the last of them maybe half full; it needs the
        pages `[ceil(cached_len / page_size), ceil(device_len / page_size))`. Whole pages are entered, so
        that decoding takes a new one only every `page_size` steps. All requests share one `_allocate` and
        one indexed write.
        """
        rows: list[int] = []
        positions: list[int] = []
        for req in reqs:
            # both ends round up: a page that is begun belongs to the request already
            first_page = cdiv(req.cached_len, self.page_size)
            last_page = cdiv(req.device_len, self.page_size)
            # name the row and the position of every token of these pages
            span = range(first_page * self.page_size, last_page * self.page_size)
            rows += [req.table_idx] * len(span)
            positions += span
        if not positions:
            return
        # one allocation for all; pages become token locations before they are written
        locations = self._page_to_token(self._allocate(len(positions) // self.page_size))
        self.page_table[index_tensor(rows, self.device), index_tensor(positions, self.device)] = locations

    def cache_req(self, req: Req, *, finished: bool) -> None:
        """Hand the KV that a request has computed to the prefix cache.

        `old` is the handle that the request holds locked, `cached_len` what the cache already held when the
        request's tokens were inserted, `new` the handle after that. The locations of `[0, req.cached_len)`
        fall into four regions:

        - `[0, old.cached_len)`: in the cache before prefill, locked by this request; nothing to do.
        - `[old.cached_len, cached_len)`: computed here, but another request inserted the same prefix
          meanwhile; this copy is freed, and a request that goes on reads the cache's copy from now on.
        - `[cached_len, new.cached_len)`: newly inserted; the cache owns these pages now.
        - `[new.cached_len, req.cached_len)`: a tail shorter than a page; freed when finished, else kept.

        A request that goes on holds `new`, locked, from now on.
        """
        old = req.cache_handle
        row = self.page_table[req.table_idx, : req.cached_len]
        # a slice of the row is a view that changes with it: keep a copy of the locations
        locations = row.clone()
        # insert first: what `old` locks must not be evicted before the new prefix is known
        cached_len, new = self.prefix_cache.insert_prefix(req.input_ids[: req.cached_len], locations)
        self.unlock(old)
        if finished:
            # nobody will write the tail any more
            self._free(locations[new.cached_len :])
        else:
            # the request reads on: point its row at the cache's copy, then hold the new prefix
            row[old.cached_len : cached_len] = new.get_matched_indices()[old.cached_len : cached_len]
            req.cache_handle = new
            self.lock(new)
        # no row names the request's own copy of the duplicated part any more
        self._free(locations[old.cached_len : cached_len])

    @contextmanager
    def lazy_free_region(self) -> Iterator[None]:
        """Collect what is freed inside; join it to `free_slots` once, when the outermost region ends."""
        self._lazy_depth += 1
        try:
            yield
        finally:
            self._lazy_depth -= 1
            if self._lazy_depth == 0:
                self._join_freed()

    def check_integrity(self) -> None:
        """RuntimeError unless every page is either free or cached, exactly once. For when no request runs."""
        self.prefix_cache.check_integrity()
        free_pages, cached_pages = (
            len(self.free_slots),
            self.prefix_cache.size_info.total_size // self.page_size,
        )
        if free_pages + cached_pages != self.num_pages:
            raise RuntimeError(
                f"cache integrity check failed: {free_pages} free pages + {cached_pages} cached pages"
                f" != {self.num_pages} pages in all"
            )
        cached = self.prefix_cache.cached_locations()[:: self.page_size]
        firsts = torch.cat([self.free_slots, cached]).long()
        # as many firsts as pages: if each is a page's first, naming one twice leaves another unnamed
        pages = firsts.clamp(0, (self.num_pages - 1) * self.page_size) // self.page_size
        named = torch.zeros(self.num_pages, dtype=torch.bool, device=self.device)
        named[pages] = True
        if not torch.equal(pages * self.page_size, firsts) or not bool(named.all()):
            raise RuntimeError(
                "cache integrity check failed: a page is torn, or free and cached, or listed twice"
            )

    def _allocate(self, needed_pages: int) -> torch.Tensor:
        """The first locations of `needed_pages` pages, int32 [needed_pages], evicting prefixes when short.

        RuntimeError when eviction does not free enough.
        """
        shortage = needed_pages - len(self.free_slots)
        if shortage > 0:
            evicted = self.prefix_cache.evict(shortage * self.page_size)
            trace.emit("evict", size=shortage * self.page_size, locations=evicted)
            self.free_slots = torch.cat([self.free_slots, evicted[:: self.page_size]])
            if len(self.free_slots) < needed_pages:
                raise RuntimeError(
                    f"{needed_pages} pages are needed, only {len(self.free_slots)} could be freed"
                )
        allocated, self.free_slots = self.free_slots[:needed_pages], self.free_slots[needed_pages:]
        trace.emit("allocate", pages=allocated)
        return allocated

    def _page_to_token(self, pages: torch.Tensor) -> torch.Tensor:
        """All token locations of pages given by their first: int32 [n] to int32 [n * page_size]."""
        if self.page_size == 1:
            return pages
        offsets = torch.arange(self.page_size, dtype=torch.int32, device=self.device)
        return (pages.unsqueeze(1) + offsets).flatten()

    def _free(self, locations: torch.Tensor) -> None:
        """Give pages back. `locations`, int32 [n], begin at a page's first; the last page may be partial."""
        if len(locations) == 0:
            return
        pages = locations[:: self.page_size].clone()  # a view of a row would change before a lazy region ends
        trace.emit("free", pages=pages)
        self._freed.append(pages)
        if self._lazy_depth == 0:
            self._join_freed()

    def _join_freed(self) -> None:
        """Make the pages freed so far allocatable."""
        if self._freed:
            self.free_slots = torch.cat([self.free_slots, *self._freed])
            self._freed.clear()
