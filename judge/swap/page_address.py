"""Exercise 176: the token locations that go into a page table row come from ``page_address``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from judge.swap.install import SwapError, replaced

if TYPE_CHECKING:
    from minisgl.llm import LLM


@contextmanager
def drive(llm: LLM, page_address: Callable[[list[int], int, int], dict[str, Any]]) -> Iterator[None]:
    """Allocated pages become locations position by position: the pages are the block table that is asked."""
    cache = llm.cache_manager
    pool_size = cache.num_pages * cache.page_size

    def page_to_token(pages: torch.Tensor) -> torch.Tensor:
        block_table = [first // cache.page_size for first in pages.tolist()]
        locations = []
        for position in range(len(block_table) * cache.page_size):
            address = page_address(list(block_table), position, cache.page_size)
            try:
                location = address["physical_block"] * cache.page_size + address["offset"]
            except (TypeError, KeyError):
                raise SwapError("swap_place") from None
            if type(location) is not int or not 0 <= location < pool_size:
                raise SwapError("swap_place")
            locations.append(location)
        return torch.tensor(locations, dtype=torch.int32, device=cache.device)

    with replaced(cache, "_page_to_token", page_to_token):
        yield
