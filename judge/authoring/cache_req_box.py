"""Calls of `cache_req` on plain data, as 192 and 195 make them. It enters the box with their drives."""

# What stands for a part of the engine has only what is asked of it here.
# mypy: ignore-errors

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def calls_of_cache_req(target: Any, case: dict[str, Any], io: Any) -> Iterator[tuple[int, bool, list[Any]]]:
    """Make the case's calls; the prefix cache is outside.

    After each: the request's number, whether it is finished, and what there is: table, free slots, handle,
    its length, cached_len, how the cache was used.
    """
    from minisgl.kvcache.base import InsertResult
    from minisgl.scheduler.cache import CacheManager

    def handle_of(number, locations):
        return io.obj(number=number, cached_len=len(locations), get_matched_indices=locations.clone)

    def insert_prefix(input_ids, indices):
        uses.extend(["insert", None])
        held, number, locations = io.call("insert", input_ids, indices)
        return InsertResult(held, handle_of(number, locations))

    def lock_handle(handle, unlock=False):
        uses.extend(["unlock" if unlock else "lock", getattr(handle, "number", None)])

    uses, table = [], case["table"]
    manager = CacheManager(case["num_pages"], case["page_size"], table, "naive")
    manager.free_slots = case["free"]
    manager.prefix_cache = io.obj(insert_prefix=insert_prefix, lock_handle=lock_handle)
    requests = [
        io.obj(uid=number, table_idx=row, cache_handle=handle_of(number, table[row, :hit].clone()))
        for number, (row, hit) in enumerate(zip(case["rows"], case["hits"], strict=True))
    ]
    for number, length, finished in zip(case["calls"], case["lengths"], case["finished"], strict=True):
        req = requests[number]
        req.input_ids, req.cached_len, req.device_len = case["ids"][number, : length + 1], length, length + 1
        target(manager, req, finished=finished)
        held = req.cache_handle
        seen = [getattr(held, "number", None), getattr(held, "cached_len", None), req.cached_len]
        yield number, finished, [table, manager.free_slots, *seen, list(uses)]
        uses.clear()
