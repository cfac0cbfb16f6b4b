"""Whoever is right is accepted, however unusual the style: numpy, partials, loops, own exceptions, tuples."""

from __future__ import annotations

import pytest

from judge.exercises import find
from judge.run import judge_submission
from judge.types import Verdict

RIGHT = {
    "192 with numpy, `finished` by position": """
import numpy as np, torch
def cache_req(self, req, finished):
    row, n, old = self.page_table[req.table_idx].numpy(), int(req.cached_len), req.cache_handle
    mine = np.array(row[:n], copy=True)
    cached, new = self.prefix_cache.insert_prefix(req.input_ids[:n].clone(), torch.from_numpy(mine.copy()))
    self.unlock(old)
    if finished:
        self._free(torch.from_numpy(np.concatenate([mine[old.cached_len:cached], mine[new.cached_len:]])))
        req.cache_handle = None
    else:
        row[old.cached_len:cached] = new.get_matched_indices().numpy()[old.cached_len:cached]
        self.lock(new)
        req.cache_handle = new
        self._free(torch.tensor(mine[old.cached_len:cached]))
""",
    "192 as a partial, in a lazy region, with prints": """
import functools, torch
def _do(said, self, req, **how):
    print(said)
    with self.lazy_free_region():
        keep = torch.clone(self.page_table[req.table_idx][:req.cached_len])
        out = self.prefix_cache.insert_prefix(req.input_ids[0:req.cached_len], keep)
        lo, hi = req.cache_handle.cached_len, out[0]
        self.prefix_cache.lock_handle(req.cache_handle, unlock=True)
        if how["finished"]:
            self._free(keep[out[1].cached_len:])
        else:
            rows = torch.full((hi - lo,), req.table_idx)
            self.page_table.index_put_((rows, torch.arange(lo, hi)), out[1].get_matched_indices()[lo:hi])
            self.prefix_cache.lock_handle(out[1])
            req.cache_handle = out[1]
        if hi > lo:
            self._free(keep[lo:hi])
cache_req = functools.partial(_do, "called")
""",
    "192 decorated, without a copy, defined twice": """
import torch
if torch.__version__:
    @torch.no_grad()
    def cache_req(manager, req, /, *, finished=False):
        row, old, end = manager.page_table[req.table_idx], req.cache_handle, req.cached_len
        had, new = manager.prefix_cache.insert_prefix(req.input_ids[:end], row[:end])
        if finished:
            for part in (row[old.cached_len:had], row[new.cached_len:end]):
                manager.free_slots = torch.cat((manager.free_slots, part[::manager.page_size]))
        else:
            copy = row[old.cached_len:had].clone()
            row[:new.cached_len] = new.get_matched_indices()
            manager._free(copy)
            manager.lock(new)
        manager.unlock(old)
        req.cache_handle = new
else:
    def cache_req(): pass
""",
    "193 token by token": """
def _try_allocate_one(self, req):
    cache, tables = self.cache_manager, self.table_manager
    if tables.available_size:
        handle = cache.match_req(req)[0]
        need = len(req.input_ids) - handle.cached_len + req.output_len + self.reserved_size
        for step in (cache.lock, None):
            if need > cache.available_size:
                if step is None:
                    cache.unlock(handle)
                break
            if step:
                step(handle)
        else:
            slot = tables.allocate()
            for i in range(handle.cached_len):
                tables.token_pool[slot, i] = req.input_ids[i]
                tables.page_table[slot, i] = handle.get_matched_indices()[i]
            return [handle, slot]
""",
    "193 with an exception inside and a named tuple": """
import collections
import numpy as np
Place = collections.namedtuple("Place", "handle slot")
class NoRoom(Exception): pass
def _try_allocate_one(self, req, verbose=False):
    if self.table_manager.available_size <= 0: return None
    handle, = self.cache_manager.match_req(req)
    k, locked = handle.cached_len, []
    def look():
        if req.input_len + req.output_len + self.reserved_size - k > self.cache_manager.available_size:
            raise NoRoom
    try:
        look()
        self.cache_manager.lock(handle); locked.append(handle)
        look()
    except NoRoom:
        return [*map(self.cache_manager.unlock, locked), None][-1]
    slot = self.table_manager.allocate()
    self.table_manager.token_pool.numpy()[slot, :k] = np.asarray(req.input_ids)[:k]
    self.table_manager.page_table.numpy()[slot, :k] = np.asarray(handle.get_matched_indices())
    return Place(handle, slot)
""",
    "176 with exceptions of its own and a defaultdict": """
from collections import defaultdict
class Bad(ValueError): pass
class Past(IndexError): pass
def page_address(block_table, position, block_size, *, strict=True):
    if (type(position), type(block_size)) != (int, int) or position < 0 or block_size <= 0: raise Bad
    try: physical = block_table[position // block_size]
    except IndexError as error: raise Past("past") from error
    if type(physical) is not int or physical < 0: raise Bad
    found = defaultdict(int, physical_block=physical, logical_block=position // block_size)
    found["offset"] += position % block_size
    return found
""",
    "188 folded, with a tuple": """
from functools import reduce
def continuous_step(requests, free_blocks, token_budget, block_size):
    bad = lambda n: type(n) is not int or n < 0
    if any(map(bad, [free_blocks, token_budget, block_size])) or not block_size: raise ValueError()
    if any(bad(r[k]) for r in requests for k in ("computed", "target", "blocks")): raise ValueError()
    if len({r["id"] for r in requests}) != len(requests): raise ValueError()
    if any(r["computed"] > min(r["target"], r["blocks"] * block_size) for r in requests): raise ValueError()
    def step(state, r):
        out, free, budget = state
        take = min(r["target"] - r["computed"], budget)
        need = max(0, -(-(r["computed"] + take) // block_size) - r["blocks"])
        if need > free: take = need = 0
        new = {**r, "scheduled": take, "computed": r["computed"] + take, "blocks": r["blocks"] + need}
        return out + [new], free - need, budget - take
    free_blocks += sum(r["blocks"] for r in requests if r.get("finished"))
    out, free, budget = reduce(
        step, (r for r in requests if not r.get("finished")), ([], free_blocks, token_budget))
    return {"requests": tuple(out), "free_blocks": free, "token_budget": budget}
""",
    "192 as a static method, with another name for self": """
@staticmethod
def cache_req(manager, req, *, finished):
    end = req.cached_len
    row = manager.page_table[req.table_idx]
    mine = row[:end].clone()
    old = req.cache_handle
    cached, new = manager.prefix_cache.insert_prefix(req.input_ids[:end], mine)
    manager.unlock(old)
    if finished:
        manager._free(mine[new.cached_len:])
    else:
        row[old.cached_len:cached] = new.get_matched_indices()[old.cached_len:cached]
        req.cache_handle = new
        manager.lock(new)
    manager._free(mine[old.cached_len:cached])
""",
    "196 with torch and keyword arguments to spare": """
import torch
def radix_split(edge_tokens, query_tokens, page_size=1, lock_ref=0, **_):
    if type(page_size) is not int or page_size < 1: raise ValueError(page_size)
    for v in [lock_ref, *edge_tokens, *query_tokens]:
        if isinstance(v, bool) or not isinstance(v, int) or v < 0: raise ValueError(v)
    k = min(len(edge_tokens), len(query_tokens))
    edge, query = (torch.tensor(run[:k], dtype=torch.long) for run in (edge_tokens, query_tokens))
    differ = (edge != query).nonzero()
    cut = (int(differ[0]) if len(differ) else k) // page_size * page_size
    return dict(matched_tokens=cut, prefix=edge_tokens[:cut], old_suffix=edge_tokens[cut:],
                new_suffix=query_tokens[cut:], prefix_lock_ref=lock_ref)
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_accepted(pool, name):
    result = judge_submission(find(name[:3]), RIGHT[name].encode(), pool=pool, engine=False)
    assert result.verdict is Verdict.AC, result.message
    assert all(sample.ok for sample in result.samples)


def test_samples_and_hidden_cases_agree_on_tuples(pool):
    """The contract of 196 says lists; a tuple looks like one on its way out of the box."""
    code = RIGHT["196 with torch and keyword arguments to spare"].replace(
        "prefix=edge_tokens[:cut]", "prefix=tuple(edge_tokens[:cut])"
    )
    result = judge_submission(find("196"), code.encode(), pool=pool, engine=False)
    assert (result.verdict, result.rule) == (Verdict.WA, 2)
    assert result.message["en"].endswith("`prefix` is a tuple; a list is due.")
    assert not all(sample.ok for sample in result.samples)


def test_an_exception_for_a_right_input_is_no_matter_of_the_wrong_ones(pool):
    code = (
        "def radix_split(edge_tokens, query_tokens, page_size=1, lock_ref=0):\n    return edge_tokens[99]\n"
    )
    result = judge_submission(find("196"), code.encode(), pool=pool, engine=False)
    assert (result.verdict, result.rule) == (Verdict.WA, 1)
