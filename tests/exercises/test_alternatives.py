"""Other ways to write it: right ones are accepted, wrong ones get the words of the mistake they are."""

from __future__ import annotations

import pytest

from judge.exercises import find
from judge.harness.diagnosis import diagnose
from judge.harness.local import expected_answer, load_reference, load_target, run_local
from judge.harness.outcome import Outcome, judge_case
from judge.types import Verdict

RIGHT = {
    "160 with a for loop and argmax by hand": """
def greedy_generate(forward, prompt, max_new, eos=None):
    if len(prompt) == 0:
        raise ValueError("empty")
    out, fed, feed = [], 0, list(prompt)
    for _ in range(max_new):
        logits = forward(feed, fed)
        fed += len(feed)
        best = 0
        for i, x in enumerate(logits):
            if x > logits[best]:
                best = i
        if eos is not None and best == eos:
            return out
        out.append(best)
        feed = [best]
    return out
""",
    "160 by recursion, with torch": """
import torch
def greedy_generate(forward, prompt, max_new, eos=None):
    if not prompt:
        raise ValueError
    def rest(ids, start, left):
        if left <= 0:
            return []
        token = int(torch.tensor(forward(ids, start)).argmax())
        return [] if token == eos else [token, *rest([token], start + len(ids), left - 1)]
    return rest(tuple(prompt), 0, max_new)
""",
    "161 with tril": """
import torch
def causal_mask(n_query, n_key):
    if not 1 <= n_query <= n_key:
        raise ValueError
    return torch.ones(n_query, n_key, dtype=torch.bool).tril(diagonal=n_key - n_query)
""",
    "161 with triu and a slice": """
import torch
def causal_mask(n_query, n_key):
    if n_query <= 0 or n_query > n_key:
        raise ValueError
    return ~torch.triu(torch.ones((n_key, n_key)), diagonal=1).bool()[-n_query:]
""",
    "164 with other names for self, and a copy": """
import torch
class Req:
    @property
    def extend_len(me):
        return me.device_len - me.cached_len
    @property
    def remain_len(me):
        return max(0, me.max_device_len - me.device_len)
    @property
    def can_decode(me):
        return bool(me.remain_len)
    def complete_one(me):
        me.cached_len, me.device_len = me.device_len, me.device_len + 1
    def append_host(me, next_token):
        new = torch.empty(len(me.input_ids) + 1, dtype=torch.int32)
        new[:-1] = me.input_ids
        new[-1:] = next_token
        me.input_ids = new
""",
    "165 with arange and full": """
import torch
def flat_positions(reqs):
    rows = [torch.empty(0, dtype=torch.int64)]
    positions = [torch.empty(0, dtype=torch.int32)]
    for req in reqs:
        rows.append(torch.full((req.extend_len,), req.table_idx))
        positions.append(torch.arange(req.cached_len, req.device_len, dtype=torch.int32))
    return torch.cat(rows), torch.cat(positions)
""",
    "165 with repeat_interleave": """
import torch
def flat_positions(reqs):
    lengths = torch.tensor([r.extend_len for r in reqs], dtype=torch.int64)
    rows = torch.tensor([r.table_idx for r in reqs], dtype=torch.int64).repeat_interleave(lengths)
    starts = torch.tensor([r.cached_len for r in reqs], dtype=torch.int64)
    ends = lengths.cumsum(0)
    positions = torch.arange(int(lengths.sum())) + (starts - ends + lengths).repeat_interleave(lengths)
    return rows, positions.to(torch.int32)
""",
    "169 as transformers writes it": """
import torch
def apply_rope(x, positions, cos_sin):
    half = x.shape[-1] // 2
    table = cos_sin[positions.long()][:, None]
    cos = torch.cat([table[..., :half]] * 2, dim=-1)
    sin = torch.cat([table[..., half:]] * 2, dim=-1)
    y = x.to(torch.float32)
    rotated = torch.cat([-y[..., half:], y[..., :half]], dim=-1)
    return (y * cos + rotated * sin).to(x.dtype)
""",
    "169 with complex numbers": """
import torch
def apply_rope(x, positions, cos_sin):
    cos, sin = cos_sin[positions].chunk(2, -1)
    turn = torch.complex(cos, sin).unsqueeze(1)
    half = x.shape[-1] // 2
    points = torch.complex(x[..., :half].float(), x[..., half:].float()) * turn
    return torch.cat([points.real, points.imag], dim=-1).to(x.dtype)
""",
    "170 written anew, in float64": """
import math
import torch
def yarn_cos_sin(head_dim, max_position, base, factor, original_max_position, beta_fast=32.0, beta_slow=1.0,
                 attention_factor=None):
    def d(r):
        return head_dim * math.log(original_max_position / (2 * math.pi * r)) / (2 * math.log(base))
    low, high = max(math.floor(d(beta_fast)), 0), min(math.ceil(d(beta_slow)), head_dim - 1)
    if attention_factor is None:
        attention_factor = 1.0 if factor <= 1 else 0.1 * math.log(factor) + 1
    frequencies = []
    for i in range(head_dim // 2):
        inverse = base ** (-2 * i / head_dim)
        ramp = min(max((i - low) / max(high - low, 0.001), 0), 1)
        frequencies.append(inverse / factor * ramp + inverse * (1 - ramp))
    angles = torch.arange(max_position, dtype=torch.float64)[:, None] * torch.tensor(frequencies).double()
    return (torch.cat([angles.cos(), angles.sin()], dim=1) * attention_factor).float()
""",
    "171 with concat_prefix and a list of keys": """
import torch
from minisgl.layers.base import BaseOP, concat_prefix
def load_state_dict(self, state_dict, *, prefix="", _internal=False):
    for name in list(self.__dict__):
        if name[0] == "_":
            continue
        value, key = getattr(self, name), concat_prefix(prefix, name)
        if isinstance(value, BaseOP):
            value.load_state_dict(state_dict, prefix=key, _internal=True)
        elif isinstance(value, torch.Tensor):
            if key not in state_dict:
                raise KeyError(key)
            new = state_dict.pop(key)
            if list(new.shape) != list(value.shape):
                raise ValueError(f"shape of {key}")
            if new.dtype is not value.dtype:
                raise ValueError(f"dtype of {key}")
            self.__dict__[name] = new
    if _internal:
        return
    if len(state_dict) > 0:
        raise RuntimeError(f"not in the model: {list(state_dict.keys())}")
""",
    "172 with a list of slots, and parts in a local variable": """
import torch
def merge_projections(pairs):
    slots = {".q_proj.": (".qkv_proj.", 0, 3), ".k_proj.": (".qkv_proj.", 1, 3),
             ".v_proj.": (".qkv_proj.", 2, 3),
             ".gate_proj.": (".gate_up_proj.", 0, 2), ".up_proj.": (".gate_up_proj.", 1, 2)}
    waiting = {}
    for name, tensor in pairs:
        found = [part for part in slots if part in name]
        if not found:
            yield name, tensor
        else:
            merged, place, count = slots[found[0]]
            full = name.replace(found[0], merged)
            waiting.setdefault(full, [None] * count)[place] = tensor
            if all(part is not None for part in waiting[full]):
                parts = waiting.pop(full)
                whole = torch.cat(parts)
                yield full, whole
    if len(waiting) != 0:
        raise ValueError("incomplete: " + " ".join(waiting))
""",
    "173 with other names": """
def forward(self, x, residual=None):
    hidden, stream = self.input_layernorm.forward(x, residual)
    attended = self.self_attn.forward(hidden)
    hidden, stream = self.post_attention_layernorm.forward(attended, stream)
    return self.mlp.forward(hidden), stream
""",
    "177 with sets and a nested dict": """
from collections import defaultdict
def kv_footprint(tables, lengths, block_size, bytes_per_token):
    fills = defaultdict(list)
    for number, table in enumerate(tables):
        full, rest = divmod(lengths[number], block_size)
        if len(table) != full + (rest > 0):
            raise ValueError
        for block in table[:full]:
            fills[block].append(block_size)
        if rest:
            fills[table[-1]].append(rest)
    logical, physical = sum(len(t) for t in tables), len({b for t in tables for b in t})
    waste = sum(block_size - max(f) for f in fills.values())
    return dict(saved_bytes=bytes_per_token * block_size * (logical - physical), tail_waste=waste,
                physical_blocks=physical, logical_blocks=logical)
""",
    "178 with a dict of keys": """
class BlockPool:
    def __init__(self, n):
        self.n, self.by_block = n, {}
        self.queue, self.ref = [*range(n)], [0 for _ in range(n)]
    def allocate(self):
        if len(self.queue) == 0:
            raise RuntimeError
        first, self.queue = self.queue[0], self.queue[1:]
        self.by_block.pop(first, None)
        self.ref[first] += 1
        return first
    def publish(self, block, key):
        if not self.ref[block]:
            raise ValueError
        self.by_block[block] = key
    def lookup(self, key):
        return min((b for b, k in self.by_block.items() if k == key), default=None)
    def touch(self, block):
        if block in self.queue:
            del self.queue[self.queue.index(block)]
        self.ref[block] += 1
    def free(self, block):
        if self.ref[block] < 1:
            raise ValueError
        self.ref[block] -= 1
        if not self.ref[block]:
            self.queue = self.queue + [block] if block in self.by_block else [block] + self.queue
""",
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
    "180 with tensors throughout": """
import torch
def seqlen_metadata(reqs):
    spans = torch.tensor([[req.extend_len, req.device_len] for req in reqs], dtype=torch.int64)
    if not bool((spans[:, 0] >= 1).all()):
        raise ValueError
    ends = spans[:, 0].cumsum(0)
    cu = torch.nn.functional.pad(ends, (1, 0)).to(torch.int32)
    return cu, spans[:, 1].to(torch.int32), ends - 1
""",
    "180 by counting": """
import torch
def seqlen_metadata(reqs):
    cu, keys, last = [0], [], []
    for req in reqs:
        if req.device_len <= req.cached_len:
            raise ValueError(req)
        cu.append(cu[-1] + req.device_len - req.cached_len)
        keys.append(req.device_len)
        last.append(cu[-1] - 1)
    return torch.IntTensor(cu), torch.IntTensor(keys), torch.LongTensor(last)
""",
    "181 with torch's own attention, a request at a time": """
import torch
import torch.nn.functional as F
def paged_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale):
    out = []
    for row, start, end, m in zip(page_table, cu_seqlens_q[:-1], cu_seqlens_q[1:], cache_seqlens):
        one = q[start:end].transpose(0, 1)
        k, v = (cache[row[:m]].transpose(0, 1) for cache in (k_cache, v_cache))
        n = one.shape[1]
        mask = torch.arange(int(m)) <= torch.arange(int(m) - n, int(m))[:, None]
        out.append(F.scaled_dot_product_attention(one[None], k[None], v[None], attn_mask=mask, scale=scale,
                                                  enable_gqa=True)[0].transpose(0, 1))
    return torch.cat(out)
""",
    "181 with all requests in one padded product": """
import torch
def paged_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale):
    counts = (cu_seqlens_q[1:] - cu_seqlens_q[:-1]).long()
    owner = torch.repeat_interleave(torch.arange(len(counts)), counts)
    later = cu_seqlens_q[1:].long()[owner] - 1 - torch.arange(len(q))
    seen = torch.arange(page_table.shape[1]) < (cache_seqlens.long()[owner] - later)[:, None]
    where = torch.where(seen, page_table[owner], 0).long()
    k, v = k_cache[where].float(), v_cache[where].float()
    group = q.shape[1] // k.shape[2]
    heads = q.float().unflatten(1, (k.shape[2], group))
    scores = torch.einsum("nkgd,nmkd->nkgm", heads, k) * scale
    scores[~seen[:, None, None].expand_as(scores)] = -torch.inf
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    weights = weights / weights.sum(-1, keepdim=True)
    return torch.einsum("nkgm,nmkd->nkgd", weights, v).flatten(1, 2).to(q.dtype)
""",
    "184 one token at a time": """
import torch
def filter_probs(probs, top_k, top_p, min_p):
    out = torch.zeros_like(probs)
    for b, row in enumerate(probs.tolist()):
        ids = sorted(range(len(row)), key=lambda i: -row[i])[: int(top_k[b])]
        total, before, kept = sum(row[i] for i in ids), 0.0, []
        for i in ids:
            if before >= float(top_p[b]) or row[i] < float(min_p[b]) * row[ids[0]]:
                break
            kept.append(i)
            before += row[i] / total
        for i in kept:
            out[b, i] = row[i] / sum(row[j] for j in kept)
    return out
""",
    "184 by ranks, without sorting back": """
import torch
def filter_probs(probs, top_k, top_p, min_p):
    order = torch.sort(-probs, stable=True).indices
    ranks = order.argsort(dim=1)
    left = torch.where(ranks < top_k.unsqueeze(1), probs, torch.zeros(()))
    left = left / left.sum(1, keepdim=True)
    sums = left.gather(1, order).cumsum(1).roll(1, 1)
    sums[:, 0] = 0
    keep = (sums.gather(1, ranks) < top_p.view(-1, 1)) & (left / left.amax(1, True) >= min_p.view(-1, 1))
    left = left * keep
    return torch.nn.functional.normalize(left, p=1, dim=1)
""",
    "184 row by row with topk": """
import torch
def filter_probs(probs, top_k, top_p, min_p):
    def one(row, k, p, m):
        values, ids = torch.sort(row, descending=True, stable=True)
        values, ids = values[:k] / values[:k].sum(), ids[:k]
        before = torch.cat([torch.zeros(1), values.cumsum(0)[:-1]])
        values[(before >= p) | (values < m * values[0])] = 0
        return torch.zeros(len(row)).index_put((ids,), values / values.sum())
    settings = zip(top_k.tolist(), top_p.tolist(), min_p.tolist())
    return torch.stack([one(row, *own) for row, own in zip(probs, settings)])
""",
    "186 pages of each rank": """
import math
def plan_num_pages(free_before, free_after, memory_ratio, page_bytes, override=None):
    def pages(rank):
        used = free_before[rank] - free_after[rank]
        return math.floor(free_before[rank] * memory_ratio - used) // page_bytes
    found = min(map(pages, range(len(free_after)))) - 1 if override is None else override
    if not found > 1:
        raise ValueError("too small")
    return found
""",
    "186 with early returns": """
def plan_num_pages(free_before, free_after, memory_ratio, page_bytes, override=None):
    if override is not None:
        if override < 2:
            raise ValueError(override)
        return override
    room = None
    for i in range(len(free_before)):
        here = int(memory_ratio * free_before[i]) - free_before[i] + free_after[i]
        if room is None or here < room:
            room = here
    if room < 3 * page_bytes:
        raise ValueError(room)
    return int((room - page_bytes) // page_bytes)
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
    "189 with a loop and insort": """
from bisect import insort
from minisgl.core import Batch
def schedule_next_batch(self):
    reqs = []
    for req in self.running_reqs:
        insort(reqs, req, key=lambda one: one.uid)
    return Batch(reqs=reqs, phase="decode") if reqs else None
""",
    "189 with a dict and list.sort": """
from minisgl.core import Batch
def schedule_next_batch(self):
    by_uid = {req.uid: req for req in self.running_reqs}
    uids = list(by_uid)
    uids.sort()
    if len(uids) == 0:
        return None
    return Batch([by_uid[uid] for uid in uids], "decode")
""",
    "190 with a queue of its own": """
def five_rounds(step, arrivals, num_blocks, token_budget, block_size, rounds=5):
    queue, records, sampled = [], [], {}
    for now in range(rounds):
        for a in arrivals:
            if a["round"] == now:
                queue.append(dict(id=a["id"], computed=0, target=a["prompt"], blocks=0, output=a["output"]))
        plan = step(requests=queue, free_blocks=num_blocks, token_budget=token_budget, block_size=block_size)
        num_blocks = plan["free_blocks"]
        rows = {r["id"]: r for r in plan["requests"]}
        records.append(dict(round=now, free=num_blocks,
                            scheduled={k: r["scheduled"] for k, r in rows.items()},
                            computed={k: r["computed"] for k, r in rows.items()},
                            blocks={k: r["blocks"] for k, r in rows.items()}))
        queue = []
        for r in plan["requests"]:
            if r["scheduled"] and r["computed"] >= r["target"]:
                sampled[r["id"]] = sampled.get(r["id"], 0) + 1
                if sampled[r["id"]] < r["output"]:
                    r["target"] = r["target"] + 1
                else:
                    r["finished"] = True
            queue.append(r)
    return records
""",
    "190 with ends known from the start": """
def five_rounds(step, arrivals, num_blocks, token_budget, block_size, rounds=5):
    last = {a["id"]: a["prompt"] + a["output"] - 1 for a in arrivals}
    live, out = (), []
    for number in range(rounds):
        new = filter(lambda a: a["round"] == number, arrivals)
        live = [*live, *({"id": a["id"], "target": a["prompt"], "computed": 0, "blocks": 0} for a in new)]
        answer = step(live, num_blocks, token_budget, block_size)
        num_blocks, got = answer["free_blocks"], answer["requests"]
        row = {"round": number, "free": num_blocks}
        for key in "scheduled", "computed", "blocks":
            row[key] = {r["id"]: r[key] for r in got}
        out.append(row)
        live = [
            {"id": r["id"], "computed": r["computed"], "blocks": r["blocks"],
             "target": min(last[r["id"]], max(r["target"], r["computed"] + 1)),
             "finished": r["computed"] == last[r["id"]]}
            for r in got
        ]
    return out
""",
    "191 request by request": """
def fairness_clocks(events):
    out = {}
    for name in dict.fromkeys(e["id"] for e in events):
        mine = [e for e in events if e["id"] == name and type(e["id"]) is type(name)]
        runs = [e for e in mine if e["kind"] == "run"]
        ran = [p for e in runs for p in range(e["start"], e["start"] + e["tokens"])]
        pauses = [after["round"] - e["round"] for e, after in zip(mine, mine[1:]) if e["kind"] == "preempt"]
        out[name] = dict(
            paused=sum(pauses), emitted=[e["kind"] for e in mine].count("emit"), executed=len(ran),
            valid=len(set(ran)), recomputed=len(ran) - len(set(ran)),
            first_wait=runs[0]["round"] - mine[0]["round"] if runs else None)
    return out
""",
    "191 with counters": """
from collections import Counter, defaultdict
def fairness_clocks(events):
    ran, log = defaultdict(Counter), defaultdict(list)
    for e in events:
        log[e["id"]].append((e["kind"], e["round"]))
        if e["kind"] == "run":
            ran[e["id"]].update(e["start"] + i for i in range(e["tokens"]))
    clocks = {}
    for name, seen in log.items():
        first = [r for kind, r in seen if kind == "run"][:1]
        paused, since = 0, None
        for kind, r in seen:
            if kind == "preempt":
                since = r
            elif kind == "run" and since is not None:
                paused, since = paused + r - since, None
        total = sum(ran[name].values())
        clocks[name] = {"executed": total, "valid": len(ran[name]), "recomputed": total - len(ran[name]),
                        "emitted": sum(kind == "emit" for kind, _ in seen),
                        "first_wait": first[0] - seen[0][1] if first else None, "paused": paused}
    return clocks
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
    "194 position by position": """
def allocate_paged(self, reqs):
    size, missing = self.page_size, []
    for req in reqs:
        for page in range((req.cached_len + size - 1) // size, (req.device_len + size - 1) // size):
            missing.append((req.table_idx, page))
    for (row, page), first in zip(missing, self._allocate(len(missing)).tolist()):
        for offset in range(size):
            self.page_table[row, page * size + offset] = first + offset
""",
    "194 with one indexed write": """
import math
import torch
def allocate_paged(self, reqs):
    rows, positions = [], []
    for req in reqs:
        first, last = (math.ceil(n / self.page_size) for n in (req.cached_len, req.device_len))
        positions += range(first * self.page_size, last * self.page_size)
        rows += [req.table_idx] * (len(positions) - len(rows))
    if rows:
        pages = self._allocate(len(rows) // self.page_size)
        self.page_table[torch.tensor(rows), torch.tensor(positions)] = self._page_to_token(pages)
""",
    "195 with the row always rewritten": """
def cache_req(self, req, *, finished):
    old, end = req.cache_handle, req.cached_len
    mine = self.page_table[req.table_idx, :end].clone()
    held, new = self.prefix_cache.insert_prefix(req.input_ids[:end], mine)
    self.unlock(old)
    self.page_table[req.table_idx, : new.cached_len] = new.get_matched_indices()
    self._free(mine[old.cached_len : held])
    if finished:
        self._free(mine[new.cached_len :])
        return
    self.lock(new)
    req.cache_handle = new
""",
    "195 with lists": """
import torch
def cache_req(self, req, *, finished):
    old, end = req.cache_handle, req.cached_len
    row = self.page_table[req.table_idx]
    before = row[:end].tolist()
    result = self.prefix_cache.insert_prefix(req.input_ids[:end], row[:end].clone())
    self.unlock(old)
    first, last, new = old.cached_len, result.cached_len, result.handle
    freed = before[first:last]
    if finished:
        self._free(torch.tensor(before[new.cached_len:], dtype=torch.int32))
    else:
        for position, place in list(enumerate(new.get_matched_indices().tolist()))[first:last]:
            row[position] = place
        self.lock(new)
        req.cache_handle = new
    self._free(torch.tensor(freed, dtype=torch.int32))
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
    "200 with a longer list of its own": """
import minisgl.core as core
def _add_one_req(self, pending_req, cache_handle, table_idx, cached_len):
    rest = pending_req.input_ids[cached_len:]
    now = rest[: self.token_budget]
    self.reserved_size = self.reserved_size + len(rest) + pending_req.sampling_params.max_tokens
    self.reserved_size += max(0, self.cache_manager.page_size - 1)
    self.token_budget = self.token_budget - len(now)
    pool = self.table_manager.token_pool
    for i, token in enumerate(now.tolist()):
        pool[table_idx, cached_len + i] = token
    ids = pending_req.input_ids[: cached_len + len(now)].clone()
    args = (ids, table_idx, cached_len, pending_req.output_len, pending_req.uid)
    args += (pending_req.sampling_params, cache_handle)
    return core.Req(*args) if len(now) == len(rest) else core.ChunkedReq(*args)
""",
    "200 writing the hit prefix again, too": """
from minisgl.core import ChunkedReq, Req
def _add_one_req(self, pending_req, cache_handle, table_idx, cached_len):
    end = min(pending_req.input_len, cached_len + self.token_budget)
    self.table_manager.token_pool[table_idx, :end] = pending_req.input_ids[:end]
    self.token_budget -= end - cached_len
    worst = pending_req.input_len + pending_req.output_len - cached_len
    self.reserved_size += worst + (self.cache_manager.page_size - 1)
    cls = Req if end == pending_req.input_len else ChunkedReq
    return cls(pending_req.input_ids[:end], table_idx, cached_len, pending_req.output_len, pending_req.uid,
               pending_req.sampling_params, cache_handle)
""",
    "202 by recursion, with slices": """
import math
def retract_to_fit(running, free_pages, page_size, watermark):
    def pages(n):
        return math.ceil(n / page_size)
    need = 0
    for r in running:
        need += pages(r["device_len"]) - pages(r["cached_len"])
    keep = watermark * (len(running) > 1)
    if not need or need + keep <= free_pages:
        return []
    if len(running) < 2:
        raise RuntimeError("no")
    *rest, last = running
    entry = dict(uid=last["uid"], input_ids=[*last["prompt"], *last["output"]],
                 max_tokens=last["max_tokens"] - len(last["output"]))
    free_pages += last["pages"] - last["shared_pages"]
    return [entry] + retract_to_fit(rest, free_pages, page_size, watermark)
""",
    "202 with an index from behind": """
def retract_to_fit(running, free_pages, page_size, watermark):
    needs = [(r["device_len"] + page_size - 1) // page_size - (r["cached_len"] + page_size - 1) // page_size
             for r in running]
    n = len(running)
    while sum(needs[:n]) > max(free_pages - watermark * (n > 1), 0):
        if n == 1:
            raise RuntimeError
        n -= 1
        free_pages += running[n]["pages"] - running[n]["shared_pages"]
    return [{"uid": r["uid"], "input_ids": r["prompt"] + r["output"],
             "max_tokens": r["max_tokens"] - len(r["output"])} for r in reversed(running[n:])]
""",
    "203 with one sort": """
def lpm_order(pending, matched, waited, bound):
    place = {uid: i for i, uid in enumerate(pending)}
    def key(uid):
        return (0, 0, place[uid]) if waited[uid] >= bound else (1, -matched[uid], place[uid])
    return sorted(pending, key=key)
""",
    "203 with reverse, which is stable": """
def lpm_order(pending, matched, waited, bound):
    late = list(filter(lambda u: waited[u] >= bound, pending))
    rest = [u for u in pending if u not in set(late)]
    rest.sort(key=matched.get, reverse=True)
    late.extend(rest)
    return late
""",
    "201 with running sums": """
from itertools import accumulate
def plan_mixed(decode_uids, prefill, token_budget):
    plan = sorted((uid, 1) for uid in decode_uids)
    left = max(0, token_budget - len(plan))
    ends = list(accumulate((n for _, n in prefill), initial=0))
    for (uid, _), start, end in zip(prefill, ends, ends[1:]):
        if start < left:
            plan += [(uid, min(end, left) - start)]
    return plan
""",
    "201 with a queue and lists for pairs": """
from collections import deque
def plan_mixed(decode_uids, prefill, token_budget):
    plan, queue = [[uid, 1] for uid in sorted(set(decode_uids))], deque(prefill)
    left = token_budget - len(plan)
    while queue and left > 0:
        uid, n = queue.popleft()
        plan.append([uid, n if n <= left else left])
        left -= n
    return plan
""",
    "205 with two lists and one loop over pairs": """
from minisgl.core import ChunkedReq
from minisgl.message import DetokenizeMsg
def _process_last_data(self, last_data):
    if last_data is not None:
        given, output = last_data
        if output.copy_done_event:
            output.copy_done_event.synchronize()
        self._batch_done()
        stale, self.finished_reqs, messages = self.finished_reqs, set(), []
        with self.cache_manager.lazy_free_region():
            for i in range(len(given.batch.reqs)):
                req, token = given.batch.reqs[i], int(output.next_tokens_cpu[i])
                if req in stale or type(req) is ChunkedReq:
                    continue
                if token < 0:
                    self.finished_reqs |= {req}
                    messages += [self._fail(req)]
                    continue
                req.append_host(output.next_tokens_cpu[i : i + 1])
                params, reason = req.sampling_params, None
                if len(req.input_ids) == req.max_device_len:
                    reason = "length"
                if token in (*params.stop_token_ids, None if params.ignore_eos else self.eos_token_id):
                    reason = "stop"
                score, top = output.logprob_of(i)
                messages.append(DetokenizeMsg(req.uid, token, reason is not None, reason, None, score, top))
                if reason:
                    self.finished_reqs.add(req)
                    self.decode_manager.remove_req(req)
                    self._free_req_resources(req)
                elif given.batch.phase == "prefill" and i >= given.batch.num_decodes:
                    self.cache_manager.cache_req(req, finished=False)
        self.send_result(messages)
""",
    "206 with a method chosen first": """
def _free_req_resources(self, req):
    give_back = self.deferred_slots.append if self.in_flight else self.table_manager.free
    self.cache_manager.cache_req(req, finished=True)
    give_back(req.table_idx)
""",
    "207 manager by manager, freed first": """
def _abort_req(self, uid):
    for manager in (self.prefill_manager, self.decode_manager):
        req = manager.abort_req(uid)
        if req:
            self._free_req_resources(req)
            self.finished_reqs |= {req}
            return
""",
    "204 with helpers, and two ways out": """
def overlap_loop(self, last_data):
    busy = last_data is not None or self.decode_manager.runnable or self.prefill_manager.runnable
    messages = self.receive_msg(blocking=not busy)
    for i in range(len(messages)):
        self._process_one_msg(messages[i])
    step = self._schedule_next_batch()
    if step is None:
        self._process_last_data(last_data)
        return None
    with self.engine_stream_ctx:
        self.engine.stream.wait_stream(self.stream)
        output = self._forward(step)
    self._process_last_data(last_data)
    return (step, output)
""",
    "197 with the least of all leaves, each time anew": """
import torch
def evict(self, size):
    if size > self.evictable_size:
        raise RuntimeError("not enough")
    def leaves(node):
        if not node.children:
            return [node] if node.ref_count == 0 else []
        return [leaf for child in node.children.values() for leaf in leaves(child)]
    out = torch.zeros(0, dtype=torch.int32)
    while len(out) < size:
        oldest = min(leaves(self.root_node), key=lambda leaf: (leaf.timestamp, leaf.uuid))
        siblings = oldest.parent.children
        for key in [key for key, child in siblings.items() if child is oldest]:
            siblings.pop(key)
        self.evictable_size -= len(oldest._key)
        out = torch.cat([out, oldest.value])
    return out
""",
    "197 with a sorted list, and the counter at the end": """
from bisect import insort
import torch
def evict(self, size):
    if size == 0:
        return self._empty
    if size > self.evictable_size:
        raise RuntimeError
    def order(node):
        return node.timestamp, node.uuid
    free = sorted((n for n in self._nodes() if n.is_leaf and not n.ref_count), key=order)
    gone = []
    while sum(node.length for node in gone) < size:
        node = free.pop(0)
        gone.append(node)
        up = node.parent
        up.children.pop(self.key_fn(node._key))
        if not up.children and up.ref_count == 0 and up is not self.root_node:
            insort(free, up, key=order)
    self.evictable_size -= sum(node.length for node in gone)
    return torch.cat([node.value for node in gone])
""",
    "198 with one long script and helpers": """
def check(make):
    same = lambda got, due: got == due or 1 / 0
    for size in (1, 2, 4):
        c = make(size)
        def run(first, n):
            return [first + i for i in range(n * size)]
        a, b = run(100, 3), run(100, 1) + run(900, 1)
        same(c.sizes(), (0, 0))
        n, h = c.insert(a, run(0, 3))
        same(n, 0)
        c.lock(h)
        n, g = c.insert(b + [1] * (size - 1), run(400, 2) + [7] * (size - 1))
        same(n, size)
        same(c.indices(g), run(0, 1) + run(400 + size, 1))
        same(c.sizes(), (size, 3 * size))
        c.lock(g)
        same(c.sizes(), (0, 4 * size))
        c.unlock(h)
        same(c.sizes(), (2 * size, 2 * size))
        c.unlock(g)
        same(c.sizes(), (4 * size, 0))
        same(c.match(a[: 2 * size - 1])[0], (2 * size - 1) // size * size)
        c.match(a)
        same(c.evict(1), run(400 + size, 1))
        same(sum(c.sizes()), 3 * size)
        same(sorted(c.evict(3 * size)), run(0, 3))
""",
    "198 against an own list of all that is cached": """
import random
def check(make):
    from minisgl.kvcache.radix_cache import RadixPrefixCache as Own
    import torch
    t = lambda ids: torch.tensor(ids, dtype=torch.int32)
    rng = random.Random(2)
    for size in (1, 4):
        c, own, held = make(size), Own(torch.device("cpu"), size), []
        for step in range(90):
            ids = [rng.randrange(2) for _ in range(rng.randrange(1, 13))]
            what = rng.randrange(4)
            if what == 0:
                places = list(range(100 * step, 100 * step + len(ids)))
                n, h = c.insert(ids, places)
                m, twin = own.insert_prefix(t(ids), t(places))
                assert n == m and c.indices(h) == twin.get_matched_indices().tolist()
            elif what == 1 and len(held) < 2:
                n, h = c.match(ids)
                twin = own.match_prefix(t(ids)).cuda_handle
                assert n == twin.cached_len
                c.lock(h), own.lock_handle(twin)
                held.append((h, twin))
            elif what == 2 and held:
                h, twin = held.pop(0)
                c.unlock(h), own.lock_handle(twin, unlock=True)
            else:
                n = min(rng.randrange(9), own.evictable_size)
                assert c.evict(n) == own.evict(n).tolist()
            assert c.sizes() == tuple(own.size_info)
""",
    "199 in whole pages from the start": """
def match_req(self, req):
    if req.input_len == 0:
        raise ValueError("empty")
    pages = (req.input_len - 1) // self.page_size
    return self.prefix_cache.match_prefix(req.input_ids[: pages * self.page_size])
""",
    "199 with narrow, and the result made anew": """
from minisgl.kvcache import MatchResult
def match_req(self, req):
    n = len(req.input_ids)
    if not n:
        raise ValueError("empty")
    found = self.prefix_cache.match_prefix(req.input_ids.narrow(0, 0, n - 1))
    return MatchResult(found.cuda_handle)
""",
}

WRONG = {
    "160 b": """
def greedy_generate(forward, prompt, max_new, eos=None):
    if not prompt:
        raise ValueError
    ids = list(prompt)
    while len(ids) < len(prompt) + max_new:
        first = len(ids) == len(prompt)
        logits = forward(ids if first else ids[-1:], 0 if first else len(ids))
        best = max(logits)
        token = [i for i in range(len(logits)) if logits[i] == best][0]
        if token == eos:
            break
        ids.append(token)
    return ids[len(prompt):]
""",
    "161 a": """
import torch
def causal_mask(n_query, n_key):
    if n_query < 1 or n_query > n_key:
        raise ValueError
    return torch.tril(torch.ones(n_query, n_key, dtype=torch.bool))
""",
    "164 b": """
import torch
class Req:
    @property
    def extend_len(self):
        return self.device_len - self.cached_len
    @property
    def remain_len(self):
        return self.max_device_len - self.input_ids.numel()
    @property
    def can_decode(self):
        return self.remain_len >= 1
    def complete_one(self):
        self.cached_len = self.device_len
        self.device_len = self.device_len + 1
    def append_host(self, next_token):
        self.input_ids = torch.cat((self.input_ids, next_token.int()))
""",
    "169 a": """
import torch
def apply_rope(x, positions, cos_sin):
    out = torch.empty_like(x, dtype=torch.float32)
    cos, sin = cos_sin[positions].unsqueeze(1).chunk(2, -1)
    even, odd = x[..., 0::2].float(), x[..., 1::2].float()
    out[..., 0::2] = even * cos - odd * sin
    out[..., 1::2] = even * sin + odd * cos
    return out.to(x.dtype)
""",
    "171 a": """
import torch
from minisgl.layers.base import BaseOP
def load_state_dict(self, state_dict, *, prefix="", _internal=False):
    for name, value in vars(self).items():
        if name.startswith("_"):
            continue
        key = prefix + "." + name if prefix else name
        if isinstance(value, torch.Tensor):
            new = state_dict.pop(key)
            if new.shape != value.shape or new.dtype != value.dtype:
                raise ValueError(key)
            with torch.no_grad():
                value[...] = new
        elif isinstance(value, BaseOP):
            value.load_state_dict(state_dict, prefix=key, _internal=True)
    if state_dict and not _internal:
        raise RuntimeError(str(list(state_dict)))
""",
    "172 c": """
import torch
def merge_projections(pairs):
    groups = {}
    for name, tensor in pairs:
        for part in ("q", "k", "v", "gate", "up"):
            merged = "qkv" if part in "qkv" else "gate_up"
            if f".{part}_proj." in name:
                groups.setdefault(name.replace(f".{part}_proj.", f".{merged}_proj."), {})[part] = tensor
                break
        else:
            yield name, tensor
    for name, group in groups.items():
        order = ("q", "k", "v") if ".qkv_proj." in name else ("gate", "up")
        if len(group) < len(order):
            raise ValueError(", ".join(n for n, g in groups.items() if len(g) < 2 + (".qkv_proj." in n)))
        yield name, torch.cat([group[part] for part in order])
""",
    "177 b": """
def kv_footprint(tables, lengths, block_size, bytes_per_token):
    fill = {}
    for table, length in zip(tables, lengths):
        if len(table) != (length + block_size - 1) // block_size:
            raise ValueError
        for block in table[:-1]:
            fill[block] = block_size
        if table:
            fill[table[-1]] = max(fill.get(table[-1], 0), length % block_size)
    logical = sum(map(len, tables))
    return {"logical_blocks": logical, "physical_blocks": len(fill),
            "tail_waste": sum(block_size - n for n in fill.values()),
            "saved_bytes": (logical - len(fill)) * block_size * bytes_per_token}
""",
    "178 a": """
class BlockPool:
    def __init__(self, n):
        self.queue, self.ref, self.keys = list(range(n)), [0] * n, {}
    def allocate(self):
        if not self.queue:
            raise RuntimeError
        block = self.queue.pop(0)
        self.keys.pop(block, None)
        self.ref[block] = 1
        return block
    def publish(self, block, key):
        if self.ref[block] == 0:
            raise ValueError
        self.keys[block] = key
    def lookup(self, key):
        return min([b for b in self.keys if self.keys[b] == key], default=None)
    def touch(self, block):
        self.ref[block] += 1
    def free(self, block):
        if self.ref[block] == 0:
            raise ValueError
        self.ref[block] -= 1
        if self.ref[block] == 0:
            if block in self.keys:
                self.queue.append(block)
            else:
                self.queue.insert(0, block)
""",
    "180 g": """
import torch
def seqlen_metadata(reqs):
    cu = [0]
    for req in reqs:
        if req.extend_len < 1:
            raise ValueError
        cu += [cu[-1] + req.extend_len]
    keys = torch.tensor([req.device_len for req in reqs], dtype=torch.int32)
    return torch.tensor(cu, dtype=torch.int32), keys, (keys - 1).to(torch.int64)
""",
    "181 b": """
import torch
import torch.nn.functional as F
def paged_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale):
    out = torch.zeros_like(q)
    for i, m in enumerate(cache_seqlens.tolist()):
        mine, where = slice(*cu_seqlens_q[i : i + 2].tolist()), page_table[i, :m]
        one, k, v = (x.transpose(0, 1)[None].float() for x in (q[mine], k_cache[where], v_cache[where]))
        attended = F.scaled_dot_product_attention(one, k, v, is_causal=True, scale=scale, enable_gqa=True)
        out[mine] = attended[0].transpose(0, 1).to(q.dtype)
    return out
""",
    "181 a": """
import torch
def paged_attention(q, k_cache, v_cache, page_table, cu_seqlens_q, cache_seqlens, scale):
    out, kv_heads = torch.empty_like(q), k_cache.shape[1]
    for i, m in enumerate(cache_seqlens.tolist()):
        start, end = cu_seqlens_q[i : i + 2].tolist()
        where = page_table[i, :m]
        one = q[start:end].float().unflatten(1, (-1, kv_heads))
        scores = torch.einsum("ngkd,mkd->gknm", one, k_cache[where].float()) * scale
        hidden = torch.ones(end - start, m).triu(m - (end - start) + 1).bool()
        weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
        attended = torch.einsum("gknm,mkd->ngkd", weights, v_cache[where].float())
        out[start:end] = attended.flatten(1, 2).to(q.dtype)
    return out
""",
    "190 a": """
def five_rounds(step, arrivals, num_blocks, token_budget, block_size, rounds=5):
    live, records, left = [], [], {a["id"]: a["output"] for a in arrivals}
    for now in range(rounds):
        came = [a for a in arrivals if a["round"] == now]
        live += [dict(id=a["id"], computed=0, target=a["prompt"], blocks=0) for a in came]
        for r in live:
            r["finished"] = r["computed"] == r["target"] and left[r["id"]] == 0 and "over" in r
        plan = step(live, num_blocks, token_budget, block_size)
        live, num_blocks = plan["requests"], plan["free_blocks"]
        records.append({"round": now, "free": num_blocks} | {
            key: {r["id"]: r[key] for r in live} for key in ("scheduled", "computed", "blocks")})
        for r in live:
            if r["scheduled"] > 0 and r["computed"] == r["target"]:
                left[r["id"]] -= 1
                if left[r["id"]]:
                    r["target"] += 1
            elif left[r["id"]] == 0:
                r["over"] = True
    return records
""",
    "190 c": """
def five_rounds(step, arrivals, num_blocks, token_budget, block_size, rounds=5):
    live, records, left = [], [], {a["id"]: a["output"] for a in arrivals}
    for now in range(rounds):
        came = [a for a in arrivals if a["round"] == now]
        live = [dict(id=a["id"], computed=0, target=a["prompt"], blocks=0) for a in came] + live
        plan = step(live, num_blocks, token_budget, block_size)
        live, num_blocks = plan["requests"], plan["free_blocks"]
        records.append({"round": now, "free": num_blocks} | {
            key: {r["id"]: r[key] for r in live} for key in ("scheduled", "computed", "blocks")})
        for r in [r for r in live if r["computed"] == r["target"]]:
            left[r["id"]] -= 1
            r.update(target=r["target"] + 1) if left[r["id"]] else r.update(finished=True)
    return records
""",
    "191 b": """
def fairness_clocks(events):
    out, arrived, away = {}, {}, {}
    for e in events:
        if e["kind"] == "arrive":
            arrived[e["id"]] = e["round"]
            out[e["id"]] = {"executed": 0, "valid": 0, "recomputed": 0, "emitted": 0, "first_wait": None,
                            "paused": 0}
        mine = out[e["id"]]
        if e["kind"] == "run":
            if mine["first_wait"] is None:
                mine["first_wait"] = e["round"] - arrived[e["id"]]
            mine["executed"] = mine["valid"] = mine["valid"] + e["tokens"]
            if e["id"] in away:
                mine["paused"] += e["round"] - away.pop(e["id"])
        if e["kind"] == "preempt":
            away[e["id"]] = e["round"]
        mine["emitted"] += e["kind"] == "emit"
    return out
""",
    "191 c": """
def fairness_clocks(events):
    out = {}
    for e in events:
        if e["kind"] == "arrive":
            out[e["id"]] = [e["round"], None, [], 0, None, 0]
        mine = out[e["id"]]
        if e["kind"] == "run":
            mine[2] += range(e["start"], e["start"] + e["tokens"])
            if mine[1] is None:
                mine[1] = e["round"] - mine[0]
            if mine[4] is not None:
                mine[5] += e["round"] - mine[4]
        elif e["kind"] == "preempt":
            mine[4] = e["round"]
        elif e["kind"] == "emit":
            mine[3] += 1
    return {
        name: {"executed": len(ran), "valid": len(set(ran)), "recomputed": len(ran) - len(set(ran)),
               "emitted": emitted, "first_wait": wait, "paused": paused}
        for name, (_, wait, ran, emitted, _, paused) in out.items()
    }
""",
    "189 a": """
from minisgl.core import Batch
def schedule_next_batch(self):
    reqs = [req for req in self.running_reqs]
    return Batch(reqs, "decode") if reqs else None
""",
    "189 b": """
from operator import attrgetter
from minisgl.core import Batch
def schedule_next_batch(self):
    if len(self.running_reqs) == 0:
        return None
    reqs = list(self.running_reqs)
    reqs.sort(key=attrgetter("table_idx", "uid"))
    return Batch(reqs, "decode")
""",
    "184 a": """
import torch
def filter_probs(probs, top_k, top_p, min_p):
    out = torch.zeros_like(probs)
    for b, row in enumerate(probs):
        order = row.argsort(descending=True, stable=True)[: top_k[b]]
        left = row[order] / row[order].sum()
        remove = (left.cumsum(0) > top_p[b]) | (left < min_p[b] * left[0])
        left[remove] = 0
        out[b, order] = left / left.sum()
    return out
""",
    "184 e": """
import torch
def filter_probs(probs, top_k, top_p, min_p):
    out = torch.zeros_like(probs)
    for b, row in enumerate(probs):
        order = row.argsort(descending=True, stable=True)[: top_k[b]]
        left = row[order] / row[order].sum()
        before = 0
        for token, share in zip(order, left):
            if before < top_p[b] and share >= min_p[b] * left[0]:
                out[b, token] = share
            before += share
    return out
""",
    "186 a": """
def plan_num_pages(free_before, free_after, memory_ratio, page_bytes, override=None):
    if override is None:
        override = min(int(after * memory_ratio) // page_bytes for after in free_after) - 1
    if override <= 1:
        raise ValueError
    return override
""",
    "186 c": """
def plan_num_pages(free_before, free_after, memory_ratio, page_bytes, override=None):
    budget = [int(memory_ratio * b) - b + a for b, a in zip(free_before, free_after)]
    n = min(budget) // page_bytes if override is None else override
    if n < 2:
        raise ValueError
    return n
""",
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
    "194 a": """
def allocate_paged(self, reqs):
    size = self.page_size
    spans = [(r.table_idx, r.cached_len - r.cached_len % size, -(-r.device_len // size) * size) for r in reqs]
    left = self._page_to_token(self._allocate(sum(end - begin for _, begin, end in spans) // size))
    for row, begin, end in spans:
        self.page_table[row, begin:end], left = left[: end - begin], left[end - begin :]
""",
    "194 b": """
def allocate_paged(self, reqs):
    size, missing = self.page_size, []
    for req in reqs:
        pages = range(-(-req.cached_len // size), -(-req.device_len // size))
        missing += [(req, page) for page in pages]
    if not missing:
        return
    firsts = self._allocate(len(missing)).tolist()
    for (req, page), first in zip(missing, firsts):
        for position in range(page * size, min((page + 1) * size, req.device_len)):
            self.page_table[req.table_idx, position] = first + position % size
""",
    "194 d": """
def allocate_paged(self, reqs):
    def one(req):
        begin, end = (-(-n // self.page_size) * self.page_size for n in (req.cached_len, req.device_len))
        if end > begin:
            pages = self._allocate((end - begin) // self.page_size)
            self.page_table[req.table_idx, begin:end] = self._page_to_token(pages)
    list(map(one, reqs))
""",
    "200 d": """
from minisgl.core import ChunkedReq, Req
def _add_one_req(self, pending_req, cache_handle, table_idx, cached_len):
    remain = pending_req.input_len - cached_len
    chunk = min(self.token_budget, remain)
    self.table_manager.token_pool[table_idx][cached_len:cached_len + chunk] = pending_req.input_ids[
        cached_len:cached_len + chunk]
    self.token_budget -= chunk
    self.reserved_size += remain + pending_req.output_len + self.cache_manager.page_size - 1
    cls = ChunkedReq if remain > chunk else Req
    return cls(pending_req.input_ids.clone(), table_idx, cached_len, pending_req.output_len, pending_req.uid,
               pending_req.sampling_params, cache_handle)
""",
    "200 a": """
from minisgl.core import ChunkedReq, Req
def _add_one_req(self, pending_req, cache_handle, table_idx, cached_len):
    end = min(pending_req.input_len, cached_len + self.token_budget)
    now = pending_req.input_ids[cached_len:end]
    self.table_manager.token_pool[table_idx, cached_len:end] = now
    self.token_budget -= len(now)
    self.reserved_size += len(now) + self.cache_manager.page_size + pending_req.output_len - 1
    cls = Req if end == pending_req.input_len else ChunkedReq
    return cls(pending_req.input_ids[:end], table_idx, cached_len, pending_req.output_len, pending_req.uid,
               pending_req.sampling_params, cache_handle)
""",
    "202 b": """
def retract_to_fit(running, free_pages, page_size, watermark):
    def need(rs):
        return sum(-(-r["device_len"] // page_size) + (-r["cached_len"] // page_size) for r in rs)
    rs, out = running[:], []
    while need(rs) and need(rs) > free_pages - (len(rs) > 1) * watermark:
        if len(rs) < 2:
            raise RuntimeError
        r = rs.pop()
        free_pages += -(-r["cached_len"] // page_size)
        out += [{"uid": r["uid"], "input_ids": r["prompt"] + r["output"],
                 "max_tokens": r["max_tokens"] - len(r["output"])}]
    return out
""",
    "203 b": """
def lpm_order(pending, matched, waited, bound):
    return sorted(pending, key=lambda uid: (waited[uid] < bound, -matched[uid], pending.index(uid)))
""",
    "203 c": """
def lpm_order(pending, matched, waited, bound):
    late = [uid for uid in pending if not waited[uid] < bound]
    pairs = [(-matched[uid], uid) for uid in pending if waited[uid] < bound]
    return late + [uid for _, uid in sorted(pairs)]
""",
    "201 b": """
def plan_mixed(decode_uids, prefill, token_budget):
    plan = [(uid, 1) for uid in sorted(decode_uids)]
    left = token_budget - len(plan)
    for uid, n in prefill:
        if 0 < n <= left:
            plan.append((uid, n))
            left -= n
    return plan
""",
    "201 c": """
def plan_mixed(decode_uids, prefill, token_budget):
    plan, left = [], token_budget
    for uid, n in [(uid, 1) for uid in sorted(decode_uids)] + list(prefill):
        if left > 0:
            plan.append((uid, min(n, left)))
            left -= min(n, left)
    return plan
""",
    "205 b": """
from minisgl.core import ChunkedReq
from minisgl.message import DetokenizeMsg
from minisgl.scheduler.utils import finish_reason
def _process_last_data(self, last_data):
    if last_data is None:
        return
    batch, output = last_data[0].batch, last_data[1]
    if output.copy_done_event is not None:
        output.copy_done_event.synchronize()
    self._batch_done()
    reply, gone = [], self.finished_reqs
    self.finished_reqs = set()
    with self.cache_manager.lazy_free_region():
        for i, req in enumerate(batch.reqs):
            if isinstance(req, ChunkedReq):
                continue
            token = output.next_tokens_cpu[i].item()
            if token == -1:
                self.finished_reqs.add(req)
                reply.append(self._fail(req))
                continue
            req.append_host(output.next_tokens_cpu[i : i + 1])
            reason = finish_reason(req, token, self.eos_token_id)
            reply.append(DetokenizeMsg(req.uid, token, bool(reason), reason, None, *output.logprob_of(i)))
            if reason and req not in gone:
                self.finished_reqs.add(req)
                self.decode_manager.remove_req(req)
                self._free_req_resources(req)
            elif batch.is_prefill and i >= batch.num_decodes:
                self.cache_manager.cache_req(req, finished=False)
    self.send_result(reply)
""",
    "206 a": """
def _free_req_resources(self, req):
    self.cache_manager.cache_req(req, finished=True)
    self.table_manager.free(slot=req.table_idx)
""",
    "207 c": """
def _abort_req(self, uid):
    req = self.prefill_manager.abort_req(uid)
    if req is None:
        req = self.decode_manager.abort_req(uid)
    if req is not None:
        self.finished_reqs.add(req)
""",
    "204 a": """
def overlap_loop(self, last_data):
    idle = not (self.decode_manager.runnable or self.prefill_manager.runnable)
    for msg in self.receive_msg(blocking=last_data is None and idle):
        self._process_one_msg(msg)
    if last_data is not None:
        self._process_last_data(last_data)
    step, data = self._schedule_next_batch(), None
    if step is not None:
        with self.engine_stream_ctx:
            self.engine.stream.wait_stream(self.stream)
            data = (step, self._forward(step))
    return data
""",
    "195 b": """
def cache_req(self, req, *, finished):
    old, row = req.cache_handle, self.page_table[req.table_idx, : req.cached_len]
    held, new = self.prefix_cache.insert_prefix(req.input_ids[: req.cached_len], row.clone())
    self.unlock(old)
    duplicate = row[old.cached_len : held]
    if finished:
        self._free(duplicate)
        self._free(row[new.cached_len :])
    else:
        duplicate[:] = new.get_matched_indices()[old.cached_len : held]
        self.lock(new)
        req.cache_handle = new
        self._free(duplicate)
""",
    "195 e": """
def cache_req(self, req, *, finished):
    old, end, row = req.cache_handle, req.cached_len, self.page_table[req.table_idx]
    held, new = self.prefix_cache.insert_prefix(req.input_ids[:end], row[:end].clone())
    self.unlock(old)
    if not finished:
        req.cache_handle = new
        return self.lock(new)
    self._free(row[old.cached_len : held])
    self._free(row[new.cached_len : end])
""",
    "197 a": """
import torch
def evict(self, size):
    if size > self.evictable_size:
        raise RuntimeError
    out = [self._empty]
    leaves = [n for n in self._nodes() if n.is_leaf and n.ref_count == 0]
    for node in sorted(leaves, key=lambda n: n.timestamp):
        if sum(map(len, out)) >= size:
            break
        del node.parent.children[self.key_fn(node._key)]
        self.evictable_size -= node.length
        out.append(node.value)
    return torch.cat(out)
""",
    "197 d": """
import heapq
import torch
def evict(self, size):
    if size == 0:
        return self._empty
    room = self.evictable_size
    if size > room:
        raise RuntimeError
    heap = [(n.timestamp, n.uuid, n) for n in self._nodes() if n.is_leaf and n.ref_count == 0]
    heapq.heapify(heap)
    out = []
    while sum(map(len, out)) < size:
        node = heapq.heappop(heap)[2]
        up = node.parent
        del up.children[self.key_fn(node._key)]
        room -= node.length
        out.append(node.value)
        if up.is_leaf and up.ref_count == 0:
            heapq.heappush(heap, (up.timestamp, up.uuid, up))
    return torch.cat(out)
""",
    "198 g": """
def check(make):
    c = make(1)
    assert c.insert([1, 2, 3], [10, 11, 12])[0] == 0
    return c.match([1, 2, 3])[0] == 2
""",
    "198 h": """
def check(make):
    c = make(4)
    if c.insert([1, 2, 3], [10, 11, 12])[0] != 3:
        raise ValueError("three tokens were inserted")
""",
    "199 b": """
def match_req(self, req):
    if req.input_len == 0:
        raise ValueError("empty")
    found = self.prefix_cache.match_prefix
    if req.input_len <= self.page_size:
        return found(req.input_ids[:0])
    return found(req.input_ids[:-self.page_size])
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


EVICT = """
import heapq
import torch
def evict(self, size):
    if size == 0:
        return self._empty
    if size > self.evictable_size:
        raise RuntimeError
    heap = [(n.timestamp, n.uuid, n) for n in self._nodes() if n.is_leaf and n.ref_count == 0]
    heapq.heapify(heap)
    out = []
    while sum(map(len, out)) < size:
        node = heapq.heappop(heap)[2]
        up = node.parent
        del up.children[self.key_fn(node._key)]
        self.evictable_size -= node.length
        out.append(node.value)
        if up.is_leaf and up.ref_count == 0:
            heapq.heappush(heap, (up.timestamp, up.uuid, up))
    return torch.cat(out)
"""


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("torch.cat(out)", "torch.cat(out)[:size]", 4),
        ("self.key_fn(node._key)", "tuple(node._key.tolist())", 5),
        ("n.is_leaf and ", "", 7),
        ("size > self", "size >= self", 2),
    ],
)
def test_what_is_no_known_mistake_names_the_rule_that_it_breaks(old: str, new: str, rule: int) -> None:
    assert EVICT.count(old) == 1
    outcomes, _ = judged("197", EVICT.replace(old, new))
    assert next(o.rule for o in outcomes if o.verdict is not Verdict.AC) == rule
