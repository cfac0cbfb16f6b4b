"""Who owns which page after a call: rules for page table and free list, each with its sentence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from judge.authoring.sentences import with_pages
from judge.authoring.tensors import is_int32
from judge.sandbox.tensors import TensorData
from judge.types import Broken


@dataclass
class Ownership:
    """What is known outside: rows that are still read, by row number and length, and the cache's locations.

    ``row_rule`` is the number of the rule that a row which is still read names no free page; ``page_rule`` of
    the rule that every page has one owner.
    """

    page_size: int
    reading: dict[int, int]
    cached: set[int]
    row_rule: int
    page_rule: int

    def check(self, due: tuple[TensorData, TensorData], table: Any, free: Any) -> Broken | None:
        """Compare page table and free slots with those that are ``due``; None when every rule holds."""
        if not is_int32(free, 1) or not is_int32(table, 2) or table.shape != due[0].shape:
            zh = "`free_slots` 或页表不再是原来那样的 int32 张量。"
            en = "`free_slots` or the page table is not the int32 tensor any more that it was."
            return Broken(self.page_rule, {"zh": zh, "en": en})
        slots, due_slots = sorted(free.tolist()), sorted(due[1].tolist())
        if table == due[0] and slots == due_slots:
            return None
        rows, due_rows = table.tolist(), due[0].tolist()
        return (
            self._check_free_list(slots)
            or self._check_freed(set(slots), set(due_slots), self._named(rows))
            or self._check_rows(due_rows, rows)
        )

    def _named(self, rows: list[list[int]]) -> set[int]:
        """First locations of the pages that rows which are still read name."""
        size = self.page_size
        return {place // size * size for row, length in self.reading.items() for place in rows[row][:length]}

    def _check_free_list(self, slots: list[int]) -> Broken | None:
        if torn := [slot for slot in slots if slot % self.page_size]:
            return self._page(
                "空闲表里有些位置不是页的开头：{}。", "Free slots that begin no page: {}.", torn
            )
        if twice := [slot for slot, after in pairwise(slots) if slot == after]:
            return self._page("归还了两次的页：{}。", "Pages given back twice: {}.", twice)
        return None

    def _check_freed(self, slots: set[int], due: set[int], named: set[int]) -> Broken | None:
        if wrong := self.cached & slots:
            zh = "这些页在前缀缓存里，却也在空闲表里：{}。"
            en = "Pages of the prefix cache are in the free list, too: {}."
            return self._page(zh, en, wrong)
        if wrong := named & slots:
            zh = "还会被读的行指向空闲的页：{}。"
            en = "A row that is still read names free pages: {}."
            return Broken(self.row_rule, with_pages(zh, en, wrong))
        if wrong := slots - due:
            zh = "归还了不属于这个请求的页：{}。"
            en = "Pages were given back that do not belong to this request: {}."
            return self._page(zh, en, wrong)
        missing = due - slots
        if leaked := missing - named:
            if len(leaked) == 1:
                zh, en = "调用之后有一页没有主人：{}。", "One page has no owner after the call: {}."
            else:
                zh, en = "调用之后有些页没有主人：{}。", "Pages have no owner after the call: {}."
            return self._page(zh, en, leaked)
        if missing:
            zh = "缓存里已有同样的前缀，自己那一份的页却没有归还：{}。"
            en = "The cache has the same prefix, and yet pages of the own copy are kept: {}."
            return self._page(zh, en, missing)
        return None

    def _check_rows(self, due: list[list[int]], rows: list[list[int]]) -> Broken | None:
        if all(rows[row] == due[row] for row in self.reading):
            return None
        zh = "一个还会被读的行，指向的不是它的 KV 所在的位置。"
        en = "A row that is still read names locations where its KV is not."
        return Broken(self.row_rule, {"zh": zh, "en": en})

    def _page(self, zh: str, en: str, pages: Iterable[int]) -> Broken:
        return Broken(self.page_rule, with_pages(zh, en, pages))
