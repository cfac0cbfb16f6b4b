"""Exercise 196: the radix tree forks an edge where ``radix_split`` says, with the locks that it gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from judge.swap.install import SwapError, replaced
from minisgl.kvcache.radix_cache import RadixPrefixCache, RadixTreeNode
from minisgl.utils import align_down, trace

if TYPE_CHECKING:
    from minisgl.llm import LLM


@contextmanager
def drive(llm: LLM, radix_split: Callable[..., dict[str, Any]]) -> Iterator[None]:
    """The walk of every radix cache asks the function at each edge that forks, and cuts as it answers."""

    def tree_walk(self: RadixPrefixCache, input_ids: torch.Tensor) -> tuple[RadixTreeNode, int]:
        self.clock += 1
        node, matched = self.root_node, 0
        while len(input_ids) - matched >= self.page_size:
            rest = input_ids[matched:]
            child = node.children.get(self.key_fn(rest))
            if child is None:
                break
            length = align_down(child.get_match_len(rest), self.page_size)
            if length < child.length:
                child = _fork(child, rest, self.page_size, radix_split)
                length = child.length
            child.timestamp = self.clock
            node, matched = child, matched + length
        return node, matched

    with replaced(RadixPrefixCache, "_tree_walk", tree_walk):
        yield


def _fork(
    edge: RadixTreeNode, query: torch.Tensor, page_size: int, radix_split: Callable[..., dict[str, Any]]
) -> RadixTreeNode:
    answer = radix_split(edge._key.tolist(), query.tolist(), page_size, edge.ref_count)
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
    trace.emit("split", length=cut, ref_count=locks)
    return upper
