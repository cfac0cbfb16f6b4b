"""Other ways to write it: right ones are accepted, wrong ones get the words of the mistake they are."""

from __future__ import annotations

import pytest

from judge.exercises import find
from judge.harness.diagnosis import diagnose
from judge.harness.local import expected_answer, load_reference, load_target, run_local
from judge.harness.outcome import Outcome, judge_case
from judge.types import Verdict

RIGHT = {
    "176 with divmod and try": """
def page_address(block_table, position, block_size):
    for number, least in ((position, 0), (block_size, 1)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise ValueError
    block, offset = divmod(position, block_size)
    physical = block_table[block]
    if isinstance(physical, bool) or not isinstance(physical, int) or physical < 0:
        raise ValueError
    return dict(offset=offset, physical_block=physical, logical_block=block)
""",
    "188 with a rebuilt request and a generator": """
import math
def continuous_step(requests, free_blocks, token_budget, block_size):
    def whole(n, least=0):
        return type(n) is int and n >= least
    if not (whole(free_blocks) and whole(token_budget) and whole(block_size, 1)):
        raise ValueError
    seen = []
    for r in requests:
        if r["id"] in seen or not all(whole(r[k]) for k in ("computed", "target", "blocks")):
            raise ValueError
        if r["computed"] > r["target"] or r["computed"] > r["blocks"] * block_size:
            raise ValueError
        seen.append(r["id"])
    live = []
    for r in requests:
        if "finished" in r and r["finished"]:
            free_blocks = free_blocks + r["blocks"]
        else:
            live.append(r)
    out = []
    for r in live:
        take = min(r["target"] - r["computed"], token_budget)
        total = max(r["blocks"], math.ceil((r["computed"] + take) / block_size))
        if total - r["blocks"] > free_blocks:
            take, total = 0, r["blocks"]
        free_blocks -= total - r["blocks"]
        token_budget -= take
        out.append({"id": r["id"], "target": r["target"], "computed": r["computed"] + take,
                    "blocks": total, "scheduled": take, "finished": False})
    return {"token_budget": token_budget, "free_blocks": free_blocks, "requests": out}
""",
    "192 with the row always remapped": """
def cache_req(self, req, *, finished):
    row, old, end = self.page_table[req.table_idx], req.cache_handle, req.cached_len
    mine = row[:end].clone()
    held, new = self.prefix_cache.insert_prefix(req.input_ids[:end], mine)
    row[:held] = new.get_matched_indices()[:held]
    self._free(mine[old.cached_len:held])
    if finished:
        self._free(mine[new.cached_len:])
    else:
        req.cache_handle = new
        self.lock(new)
    self.unlock(old)
""",
    "192 with whole pages only, a loop, and a lazy region": """
def cache_req(self, req, *, finished):
    old, table = req.cache_handle, self.page_table
    whole = req.cached_len // self.page_size * self.page_size
    mine = table[req.table_idx].clone()
    result = self.prefix_cache.insert_prefix(req.input_ids[:whole], mine[:whole])
    new = result.handle
    self.prefix_cache.lock_handle(old, unlock=True)
    with self.lazy_free_region():
        for first in range(old.cached_len, result.cached_len, self.page_size):
            self._free(mine[first:first + self.page_size])
        if not finished:
            locations = new.get_matched_indices().tolist()
            for position in range(old.cached_len, result.cached_len):
                table[req.table_idx, position] = locations[position]
            self.prefix_cache.lock_handle(new)
            req.cache_handle = new
        elif whole < req.cached_len:
            self._free(mine[whole:req.cached_len])
""",
    "193 with nested conditions": """
def _try_allocate_one(self, req):
    cache, tables = self.cache_manager, self.table_manager
    if tables.available_size:
        handle = cache.match_req(req).cuda_handle
        n = handle.cached_len
        need = self.reserved_size + req.output_len + len(req.input_ids) - n
        if need <= cache.available_size:
            cache.lock(handle)
            if need <= cache.available_size:
                slot = tables.allocate()
                if n > 0:
                    tables.page_table[slot][:n].copy_(handle.get_matched_indices())
                    tables.token_pool[slot][:n].copy_(req.input_ids[:n])
                return handle, slot
            cache.unlock(handle)
    return None
""",
    "196 with takewhile": """
from itertools import takewhile
def radix_split(edge_tokens, query_tokens, page_size=1, lock_ref=0):
    def whole(n, least):
        return isinstance(n, int) and not isinstance(n, bool) and n >= least
    if not whole(page_size, 1) or not whole(lock_ref, 0):
        raise ValueError
    if not all(whole(t, 0) for t in edge_tokens + query_tokens):
        raise ValueError
    n = sum(1 for _ in takewhile(lambda p: p[0] == p[1], zip(edge_tokens, query_tokens)))
    n -= n % page_size
    return {"matched_tokens": n, "prefix": list(query_tokens[:n]), "old_suffix": edge_tokens[n:],
            "new_suffix": query_tokens[n:], "prefix_lock_ref": lock_ref}
""",
}

WRONG = {
    "192 e": """
def cache_req(self, req, *, finished):
    row, old = self.page_table[req.table_idx], req.cache_handle
    held, new = self.prefix_cache.insert_prefix(req.input_ids[:req.cached_len], row[:req.cached_len])
    self._free(row[old.cached_len:held])
    self.unlock(old)
    if finished:
        self._free(row[new.cached_len:req.cached_len])
        return
    self.lock(new)
    req.cache_handle = new
""",
    "192 a": """
def cache_req(self, req, *, finished):
    row, old, end = self.page_table[req.table_idx], req.cache_handle, req.cached_len
    held, new = self.prefix_cache.insert_prefix(req.input_ids[:end], row[:end].clone())
    row[:held] = new.get_matched_indices()[:held]
    self.unlock(old)
    if finished:
        self._free(row[new.cached_len:end])
    else:
        self.lock(new)
        req.cache_handle = new
""",
    "193 a": """
def _try_allocate_one(self, req):
    if self.table_manager.available_size < 1:
        return None
    handle = self.cache_manager.match_req(req).cuda_handle
    n = handle.cached_len
    if req.input_len + req.output_len - n + self.reserved_size <= self.cache_manager.available_size:
        slot = self.table_manager.allocate()
        self.cache_manager.lock(handle)
        self.table_manager.page_table[slot, :n] = handle.get_matched_indices()
        self.table_manager.token_pool[slot, :n] = req.input_ids[:n]
        return handle, slot
""",
    "188 d": """
def continuous_step(requests, free_blocks, token_budget, block_size):
    for n in [free_blocks, token_budget, block_size - 1 if type(block_size) is int else None]:
        if type(n) is not int or n < 0:
            raise ValueError
    if len({r["id"] for r in requests}) != len(requests):
        raise ValueError
    for r in requests:
        if any(type(r[k]) is not int or r[k] < 0 for k in ("computed", "target", "blocks")):
            raise ValueError
        if r["computed"] > r["target"] or r["computed"] > r["blocks"] * block_size:
            raise ValueError
    free_blocks += sum(r["blocks"] for r in requests if r.get("finished"))
    live = []
    for r in [dict(r) for r in requests if not r.get("finished")]:
        take = min(r["target"] - r["computed"], token_budget)
        needed = (take + block_size - 1) // block_size
        fits = needed <= free_blocks
        r["scheduled"] = take if fits else 0
        if fits:
            r["computed"] += take
            r["blocks"] += needed
            free_blocks -= needed
            token_budget -= take
        live.append(r)
    return {"requests": live, "free_blocks": free_blocks, "token_budget": token_budget}
""",
}


def judged(key: str, source: str) -> tuple[list[Outcome], list[list[object]]]:
    exercise = find(key.split()[0])
    hidden, reference = exercise.hidden, load_reference(exercise)
    target = load_target(exercise, source, key)
    outcomes, due = [], []
    for case in hidden.cases("alternatives"):
        due.append(expected_answer(hidden, reference, case)[0])
        outcomes.append(judge_case(hidden, case, due[-1], run_local(hidden, target, case, key)))
    return outcomes, due


@pytest.mark.parametrize("key", RIGHT)
def test_right_in_another_way(key: str) -> None:
    outcomes, _ = judged(key, RIGHT[key])
    assert [(o.case.group, o.text or o.raised) for o in outcomes if o.verdict is not Verdict.AC] == []


@pytest.mark.parametrize("key", WRONG)
def test_a_known_mistake_in_another_way(key: str) -> None:
    outcomes, due = judged(key, WRONG[key])
    found = diagnose(find(key.split()[0]).hidden, outcomes, due)
    assert found is not None and found.letter == key.split()[1]
