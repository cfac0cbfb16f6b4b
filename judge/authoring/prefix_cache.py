"""A trusted prefix cache that a learner's method calls out of its box."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from judge.authoring.sentences import refuse
from judge.authoring.tensors import INT32_BYTES, int32_raw, is_int32
from judge.sandbox.tensors import TensorData

LONGEST = 4096
MOST_INSERTS = 64
"""Far beyond what a case asks for; without limits a box could fill the judge's own memory."""


class Prefix(NamedTuple):
    """Token ids in whole pages, and where their KV lies: int32 as bytes, quick to cut and to compare."""

    ids: bytes
    locations: bytes


class PrefixCache:
    """Answers the insertions that come out of a box, and keeps them. Handles are numbers.

    The same answers as a radix tree, from a list of all that was inserted. ``cached`` is what it holds from
    the start, ``held`` the ids of the prefixes that requests hold: request i begins with handle i. Nothing is
    evicted, so that locks change no answer: a box emits them, in their place between the insertions.
    """

    def __init__(self, page_size: int, cached: Iterable[Prefix], held: Iterable[bytes]) -> None:
        self._page = page_size * INT32_BYTES
        self._known = [Prefix(b"", b"")]
        for ids, locations in cached:
            self._insert(ids, locations)
        self._handles = sum(1 for ids in held if self._insert(ids, b""))
        self._inserts: list[list[TensorData]] = []

    def insert(self, ids: Any, locations: Any) -> list[Any]:
        """Length already held, number of the new handle, its locations."""
        if not (is_int32(ids, 1) and is_int32(locations, 1) and ids.shape == locations.shape):
            refuse(
                1,
                "`insert_prefix` 要两个等长的 int32 一维张量：token 和它们的位置。",
                "`insert_prefix` takes two int32 tensors [n] of one length: tokens and their locations.",
            )
        if ids.shape[0] > LONGEST or len(self._inserts) >= MOST_INSERTS:
            refuse(
                1,
                "插入的次数或者 token 远多于算好的。",
                "Insertions, or the tokens in one, are far more than what was computed.",
            )
        handle, held = self._insert(ids.raw, locations.raw)
        self._handles += 1
        self._inserts.append([int32_raw(handle.ids), int32_raw(handle.locations[held:])])
        return [held // INT32_BYTES, self._handles - 1, int32_raw(handle.locations)]

    def report(self) -> list[Any]:
        """Every insertion in order: ids in whole pages, locations taken over."""
        return self._inserts

    def _insert(self, ids: bytes, locations: bytes) -> tuple[Prefix, int]:
        """The handle of ``ids``, and how much of them was there before, in bytes."""
        held, found = 0, self._known[0]
        for known in self._known:
            length = _common(known.ids, ids, self._page)
            if length > held:
                held, found = length, known
        end = len(ids) // self._page * self._page
        handle = Prefix(ids[:end], found.locations[:held] + locations[held:end])
        if held < end:
            self._known.append(handle)
        return handle, held


def _common(one: bytes, other: bytes, page: int) -> int:
    """Length of the common prefix in whole pages."""
    length = min(len(one), len(other)) // page * page
    if one[:length] == other[:length]:
        return length
    return next(at for at in range(0, length, page) if one[at : at + page] != other[at : at + page])
