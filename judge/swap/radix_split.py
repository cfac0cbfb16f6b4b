"""Exercise 196: the radix tree forks an edge where ``radix_split`` says, with the locks that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from judge.swap.install import SwapError, replaced
from minisgl.kvcache.radix_cache import RadixPrefixCache, RadixTreeNode
from minisgl.utils import trace

if TYPE_CHECKING:
    from minisgl.llm import LLM


@contextmanager
def drive(llm: LLM, radix_split: Callable[..., dict[str, Any]]) -> Iterator[None]:
    """The walk of every radix cache asks the function at each edge that forks, and cuts as it answers."""

    def fork(self: RadixPrefixCache, edge: RadixTreeNode, query: torch.Tensor, shared: int) -> RadixTreeNode:
        answer = radix_split(edge._key.tolist(), query.tolist(), self.page_size, edge.ref_count)
        try:
            cut, locks = len(answer["prefix"]), answer["prefix_lock_ref"]
        except (TypeError, KeyError):
            raise SwapError("swap_fork_form") from None
        if not 0 < cut < edge.length:
            raise SwapError("swap_fork", cut=cut, length=edge.length)
        if type(locks) is not int:
            raise SwapError("swap_fork_form")
        upper = edge.split_at(cut)
        upper.ref_count = locks
        trace.emit("split", length=cut, ref_count=locks, last=upper.last_location)
        return upper

    with replaced(RadixPrefixCache, "_fork", fork):
        yield
