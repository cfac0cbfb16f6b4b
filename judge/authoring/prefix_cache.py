"""A trusted prefix cache that a learner's method calls out of its box."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch

from judge.types import Broken, Refused

LONGEST = 4096
MOST_INSERTS = 64
"""Far beyond what a case asks for; without limits a box could fill the judge's own memory."""


@dataclass
class _Page:
    """A node of a tree with one page an edge: the same answers as a radix tree, without splits."""

    locations: list[int]
    children: dict[tuple[int, ...], _Page] = field(default_factory=dict)


class PrefixCache:
    """Answers the insertions that come out of a box, and keeps them. Handles are numbers.

    ``cached`` are pairs (ids, locations) that it holds from the start, ``held`` the ids of the prefixes that
    requests hold: request i begins with handle i. Nothing is evicted, so that locks change no answer: a box
    emits them, in their place between the insertions.
    """

    def __init__(
        self, page_size: int, cached: Iterable[tuple[list[int], list[int]]], held: Iterable[list[int]]
    ) -> None:
        self.page_size = page_size
        self.root = _Page([])
        self.inserts: list[list[str]] = []
        for ids, locations in cached:
            self._walk(ids, locations)
        self.paths = [self._walk(ids, [])[0] for ids in held]

    def insert(self, ids: Any, locations: Any) -> list[Any]:
        """Length already held, number of the new handle, its locations."""
        if not (is_int32(ids, 1) and is_int32(locations, 1) and len(ids) == len(locations)):
            zh = "`insert_prefix` 要两个等长的 int32 一维张量：token 和它们的位置。"
            en = "`insert_prefix` takes two int32 tensors [n] of one length: tokens and their locations."
            raise Refused(Broken(1, {"zh": zh, "en": en}))
        if len(ids) > LONGEST or len(self.inserts) >= MOST_INSERTS:
            zh = "插入的次数或者 token 远多于算好的。"
            en = "Insertions, or the tokens in one, are far more than what was computed."
            raise Refused(Broken(1, {"zh": zh, "en": en}))
        own, given = ids.tolist(), locations.tolist()
        path, held = self._walk(own, given)
        self.paths.append(path)
        length = len(path) * self.page_size
        self.inserts.append([_text(own[:length]), _text(given[held:length])])
        places = [place for page in path for place in page.locations]
        return [held, len(self.paths) - 1, torch.tensor(places, dtype=torch.int32)]

    def report(self) -> list[Any]:
        """Every insertion in order: ids in whole pages, locations taken over; text is quick to send."""
        return self.inserts

    def _walk(self, ids: list[int], locations: list[int]) -> tuple[list[_Page], int]:
        """Go down page by page, adding those that are missing; the path, and the length that was there."""
        path, page, held = [], self.root, 0
        for start in range(0, len(ids) - self.page_size + 1, self.page_size):
            end = start + self.page_size
            key = tuple(ids[start:end])
            if key in page.children:
                held = end
            else:
                page.children[key] = _Page(locations[start:end])
            page = page.children[key]
            path.append(page)
        return path, held


def _text(values: list[int]) -> str:
    return " ".join(map(str, values))


def is_int32(value: Any, dimensions: int) -> bool:
    """Whether ``value`` is an int32 tensor with this number of dimensions."""
    return isinstance(value, torch.Tensor) and value.dtype == torch.int32 and value.dim() == dimensions
