"""Byte pair encoding: a word's neighbours are joined in the order in which training learned the pairs."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

_CACHED_WORDS, _CACHED_LENGTH = 10_000, 256


class BPE:
    """`merges` are pairs of pieces, the first learned first: lists of two, or texts with a space between."""

    def __init__(self, vocab: dict[str, int], merges: Sequence[Any], ignore_merges: bool = False) -> None:
        self._vocab = vocab
        self._ranks: dict[tuple[str, str], int] = {}
        for rank, merge in enumerate(merges):
            left, right = merge.split(" ") if isinstance(merge, str) else merge
            if left not in vocab or right not in vocab or left + right not in vocab:
                raise ValueError(
                    f"the merge of {left!r} and {right!r} names a token that is not in the vocabulary"
                )
            self._ranks[left, right] = rank
        self._ignore_merges = ignore_merges
        self._cache: dict[str, list[int]] = {}

    def encode(self, word: str) -> list[int]:
        """The ids of a word's pieces. Characters that the vocabulary lacks are left out."""
        known = self._cache.get(word)
        if known is not None:
            return known
        if self._ignore_merges and word in self._vocab:
            ids = [self._vocab[word]]
        else:
            ids = [self._vocab[piece] for piece in self._merge([c for c in word if c in self._vocab])]
        if len(word) <= _CACHED_LENGTH:
            if len(self._cache) >= _CACHED_WORDS:
                self._cache.clear()
            self._cache[word] = ids
        return ids

    def _merge(self, pieces: list[str]) -> list[str]:
        """Always the pair that was learned first, of equal ones the leftmost: n log n for n characters."""
        ranks, count = self._ranks, len(pieces)
        before, after = list(range(-1, count - 1)), list(range(1, count + 1))
        heap = [(ranks[pair], i) for i, pair in enumerate(pairwise(pieces)) if pair in ranks]
        heapq.heapify(heap)
        while heap:
            rank, i = heapq.heappop(heap)
            j = after[i]
            if not pieces[i] or j >= count or ranks.get((pieces[i], pieces[j])) != rank:
                continue  # one of the two has been joined with another neighbour since
            pieces[i] += pieces[j]
            pieces[j] = ""
            k = after[i] = after[j]
            if k < count:
                before[k] = i
                if (new := ranks.get((pieces[i], pieces[k]))) is not None:
                    heapq.heappush(heap, (new, i))
            h = before[i]
            if h >= 0 and (new := ranks.get((pieces[h], pieces[i]))) is not None:
                heapq.heappush(heap, (new, h))
        return [piece for piece in pieces if piece]
