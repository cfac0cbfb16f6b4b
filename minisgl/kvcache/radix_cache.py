"""The radix prefix cache: one tree over all cached sequences, so that each shared prefix is stored once.

A node is an edge of several tokens: `_key` their ids, `_value` their token locations, both int32 of equal
length, a multiple of the page size. Below one parent no two children share their first page. Locks count the
running requests that use a node; a lock covers the whole path to the root, so a parent has never fewer locks
than its children together.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

import torch

from ..kernel import fast_compare_key
from ..utils import align_down, trace
from .base import BaseCacheHandle, BasePrefixCache, InsertResult, MatchResult, SizeInfo

PageKey = int | tuple[int, ...]
KeyFn = Callable[[torch.Tensor], PageKey]

_uuids = count()


class RadixTreeNode:
    """One edge of the tree and the subtree below it."""

    def __init__(self, key_fn: KeyFn, timestamp: int = 0) -> None:
        self.key_fn = key_fn
        self.children: dict[PageKey, RadixTreeNode] = {}
        self.ref_count = 0
        self.timestamp = timestamp
        self.uuid = next(_uuids)
        self._parent: RadixTreeNode | None = None
        self._key: torch.Tensor
        self._value: torch.Tensor
        self._length = 0

    def set_key_value(self, key: torch.Tensor, value: torch.Tensor) -> None:
        self._key, self._value, self._length = key, value, len(key)

    def set_parent(self, parent: RadixTreeNode) -> None:
        """Hang this node below `parent`, in place of a child with the same first page. Needs the key."""
        self._parent = parent
        parent.children[self.key_fn(self._key)] = self

    @property
    def parent(self) -> RadixTreeNode:
        if self._parent is None:
            raise RuntimeError("the root of the radix tree has no parent")
        return self._parent

    @property
    def length(self) -> int:
        return self._length

    @property
    def value(self) -> torch.Tensor:
        return self._value

    @property
    def is_root(self) -> bool:
        return self._parent is None

    @property
    def is_leaf(self) -> bool:
        return not self.children

    def last_location(self) -> int | None:
        """Where the last token of this node lies, which names the node in a trace; None for the root."""
        return int(self._value[-1]) if self._length else None

    def get_match_len(self, input_ids: torch.Tensor) -> int:
        """Length of the longest common prefix of this node's key and `input_ids` (int32 [n])."""
        return fast_compare_key(self._key, input_ids)

    def split_at(self, pos: int) -> RadixTreeNode:
        """Put the first `pos` tokens into a new node above this one and return it.

        The new node inherits the locks: whoever locked this node uses the shared part as well. Handles keep
        pointing at this node, whose path to the root still spells the same tokens.
        """
        if not 0 < pos < self._length:
            raise ValueError(f"cannot split an edge of {self._length} tokens at {pos}")
        upper = RadixTreeNode(self.key_fn, self.timestamp)
        upper.ref_count = self.ref_count
        # copies: a view would keep the whole edge in memory for as long as either part lives
        upper.set_key_value(self._key[:pos].clone(), self._value[:pos].clone())
        upper.set_parent(self.parent)
        self.set_key_value(self._key[pos:].clone(), self._value[pos:].clone())
        self.set_parent(upper)
        return upper


@dataclass(frozen=True, eq=False)
class RadixCacheHandle(BaseCacheHandle):
    """The path from the root to `node`, `cached_len` tokens in all."""

    node: RadixTreeNode

    def last_location(self) -> int | None:
        return self.node.last_location()

    def get_matched_indices(self) -> torch.Tensor:
        node = self.node
        values = [node.value]
        while not node.is_root:
            node = node.parent
            values.append(node.value)
        return torch.cat(values[::-1])


class RadixPrefixCache(BasePrefixCache):
    """Prefix cache over a radix tree, evicted least recently used first.

    Time is a logical clock, one tick a walk, so that a run repeats exactly.
    """

    def __init__(self, device: torch.device, page_size: int = 1) -> None:
        self.device = device
        self.page_size = page_size
        self.key_fn = _key_fn(page_size)
        self._empty = torch.empty(0, dtype=torch.int32, device=device)
        self.protected_size = 0
        self.reset()

    def reset(self) -> None:
        if self.protected_size > 0:
            raise RuntimeError(f"cannot reset the radix cache: {self.protected_size} tokens are locked")
        self.clock = 0
        self.evictable_size = 0
        self.root_node = RadixTreeNode(self.key_fn)
        self.root_node.set_key_value(torch.empty(0, dtype=torch.int32), self._empty)
        self.root_node.ref_count = 1  # the root is never evicted

    @property
    def size_info(self) -> SizeInfo:
        return SizeInfo(evictable_size=self.evictable_size, protected_size=self.protected_size)

    def match_prefix(self, input_ids: torch.Tensor) -> MatchResult:
        """Longest cached prefix in whole pages. Not locked yet: lock the handle before anything can evict."""
        node, cached_len = self._tree_walk(input_ids)
        trace.emit("match", length=len(input_ids), cached_len=cached_len, last=node.last_location)
        return MatchResult(RadixCacheHandle(cached_len, node))

    def insert_prefix(self, input_ids: torch.Tensor, indices: torch.Tensor) -> InsertResult:
        """Take over the whole pages of `indices` whose tokens are not cached; the rest stays the caller's."""
        length = align_down(len(input_ids), self.page_size)
        node, cached_len = self._tree_walk(input_ids[:length])
        upper = node
        if cached_len < length:
            leaf = RadixTreeNode(self.key_fn, self.clock)
            # copies: the caller's ids and page table row live on and change
            leaf.set_key_value(input_ids[cached_len:length].clone(), indices[cached_len:length].clone())
            leaf.set_parent(node)
            self.evictable_size += leaf.length
            node = leaf
        trace.emit(
            "insert",
            length=len(input_ids),
            cached_len=cached_len,
            new_len=length,
            locations=indices,
            last=upper.last_location,
        )
        return InsertResult(cached_len, RadixCacheHandle(length, node))

    def lock_handle(self, handle: BaseCacheHandle, unlock: bool = False) -> None:
        """Add (or with `unlock` take back) one lock on every node of the handle's path."""
        what = "unlock" if unlock else "lock"
        trace.emit(what, cached_len=handle.cached_len, last=handle.last_location)
        for node in self._path(handle):
            if unlock:
                if node.ref_count == 0:
                    raise RuntimeError("a handle was unlocked more often than locked")
                node.ref_count -= 1
                if node.ref_count == 0:
                    self.evictable_size += node.length
                    self.protected_size -= node.length
            else:
                if node.ref_count == 0:
                    self.evictable_size -= node.length
                    self.protected_size += node.length
                node.ref_count += 1

    def evict(self, size: int) -> torch.Tensor:
        """Give up at least `size` tokens, least recently used first, in whole nodes.

        Returns the locations given up, int32 [freed], in the order of eviction. RuntimeError, with nothing
        changed, when fewer than `size` tokens are evictable.
        """
        if size == 0:
            return self._empty
        if size > self.evictable_size:
            raise RuntimeError(f"cannot evict {size} tokens: only {self.evictable_size} are evictable")
        # collect the leaves without a lock into a heap ordered by (timestamp, uuid)
        heap = [(node.timestamp, node.uuid, node) for node in self._nodes() if _is_evictable(node)]
        heapq.heapify(heap)
        freed: list[torch.Tensor] = []
        freed_size = 0
        # pop whole nodes until enough is freed; unlink each from its parent and lower evictable_size
        while freed_size < size:
            node = heapq.heappop(heap)[-1]
            parent = node.parent
            del parent.children[self.key_fn(node._key)]
            self.evictable_size -= node.length
            freed_size += node.length
            freed.append(node.value)
            # the parent may have become a leaf that nobody uses
            if not parent.is_root and _is_evictable(parent):
                heapq.heappush(heap, (parent.timestamp, parent.uuid, parent))
        return torch.cat(freed)

    def shared_sizes(self, handles: Sequence[BaseCacheHandle]) -> list[int]:
        given_back: Counter[RadixTreeNode] = Counter()
        sizes: list[int] = []
        for handle in reversed(handles):
            shared = 0
            for node in self._path(handle):
                given_back[node] += 1
                if node.ref_count > given_back[node]:
                    shared += node.length
            sizes.append(shared)
        return sizes[::-1]

    def cached_locations(self) -> torch.Tensor:
        return torch.cat([self._empty, *(node.value for node in self._nodes())])

    def check_integrity(self) -> None:
        """RuntimeError when links, keys, locks, sizes, page alignment or locations contradict each other."""
        evictable = protected = 0
        for node in self._nodes():
            parent, page_key = node.parent, self.key_fn(node._key)
            _check(parent.children.get(page_key) is node, "a node is not its parent's child")
            sizes = node._key.numel(), node.value.numel()
            _check(sizes == (node.length, node.length), "a node has not one location a token")
            _check(node.length > 0 and node.length % self.page_size == 0, "a node does not hold whole pages")
            below = sum(child.ref_count for child in node.children.values())
            _check(node.ref_count >= below >= 0, f"a node has {node.ref_count} locks, its children {below}")
            if node.ref_count > 0:
                protected += node.length
            else:
                evictable += node.length
        counted, kept = (evictable, protected), (self.evictable_size, self.protected_size)
        _check(counted == kept, f"(evictable, protected) are {counted} in the tree, {kept} in the counters")
        pages = self.cached_locations().view(-1, self.page_size)
        first = pages[:, :1]
        whole = first + torch.arange(self.page_size, dtype=torch.int32, device=self.device)
        _check(bool((first % self.page_size == 0).all()) and torch.equal(pages, whole), "a page is torn")
        _check(len(torch.unique(first)) == len(first), "a page is cached twice")

    def _path(self, handle: BaseCacheHandle) -> Iterator[RadixTreeNode]:
        """The nodes of a handle, from its last one up to below the root."""
        if not isinstance(handle, RadixCacheHandle):
            raise TypeError(f"not a handle of this cache: {type(handle).__name__}")
        node = handle.node
        while not node.is_root:
            yield node
            node = node.parent

    def _nodes(self) -> Iterator[RadixTreeNode]:
        """All nodes but the root. Each child is checked to name the node that lists it as its parent."""
        stack = [self.root_node]
        while stack:
            node = stack.pop()
            for child in node.children.values():
                _check(child._parent is node, "a child names another node as its parent")
                stack.append(child)
                yield child

    def _tree_walk(self, input_ids: torch.Tensor) -> tuple[RadixTreeNode, int]:
        """Follow `input_ids` down in whole pages; returns the last node reached and the length up to its end.

        Splits the last edge when the ids leave it half-way, and marks every node on the way as just used.
        """
        self.clock += 1
        node, matched, length = self.root_node, 0, len(input_ids)
        while length - matched >= self.page_size:
            rest = input_ids[matched:]
            child = node.children.get(self.key_fn(rest))
            if child is None:
                break
            shared = align_down(child.get_match_len(rest), self.page_size)
            if shared < child.length:
                child = self._fork(child, rest, shared)
            child.timestamp = self.clock
            node, matched = child, matched + child.length
        return node, matched

    def _fork(self, edge: RadixTreeNode, query: torch.Tensor, shared: int) -> RadixTreeNode:
        """Cut `edge` where `query` leaves it, after `shared` tokens in whole pages; the part above."""
        upper = edge.split_at(shared)
        trace.emit("split", length=shared, ref_count=upper.ref_count, last=upper.last_location)
        return upper


def _is_evictable(node: RadixTreeNode) -> bool:
    return node.is_leaf and node.ref_count == 0


def _key_fn(page_size: int) -> KeyFn:
    """A child is found by the ids of its first page."""
    if page_size == 1:
        return lambda ids: int(ids[0].item())
    return lambda ids: tuple(ids[:page_size].tolist())


def _check(holds: bool, what: str) -> None:
    if not holds:
        raise RuntimeError(f"radix cache integrity check failed: {what}")
