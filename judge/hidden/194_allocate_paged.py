"""Hidden tests of 194 `allocate_paged`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT
from judge.authoring.tensors import int32, int32_rows, is_int32
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("prompt", "一个新来的请求", "one new request"),
    Group("begun", "最后一页已经写了一部分", "a last page that is begun"),
    Group("decode", "一个请求，许多步解码", "one request, many decode steps"),
    Group("batch", "几个请求一批", "several requests in a batch"),
    Group("nothing", "没有要分的页", "no page is needed"),
]
Step = list[list[int]]
"""One call: of each request its row, cached_len and device_len."""

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 35 cases of one to twenty calls, page sizes 1 to 16; rows hold what earlier requests left."""
    found: list[Case] = []

    def add(group: str, size: int, *steps: Step) -> None:
        found.append(Case(group, _pool(rng, size, list(steps))))

    add("prompt", 4, [[0, 0, 1]])
    for size in (1, 2, 4, 16):
        add("prompt", size, [[rng.randrange(4), 0, rng.randrange(1, 4 * size + 1)]])
        hit = size * rng.randrange(1, 4)
        add("prompt", size, [[rng.randrange(4), hit, hit + rng.randrange(1, 3 * size + 1)]])
    for size in (2, 4, 4, 16):
        cached = size * rng.randrange(3) + rng.randrange(1, size)
        border = -(-cached // size) * size
        add("begun", size, [[rng.randrange(4), cached, border + 1]])
        add("begun", size, [[rng.randrange(4), cached, border + rng.randrange(1, 3 * size + 1)]])
    for size in (1, 3, 4, 16):
        length = rng.randrange(1, 2 * size + 1)
        add("decode", size, *_decodes([0], [length], 4 + size))
    for size in (1, 2, 4, 4, 16):
        add("batch", size, _batch(rng, size))
        rows, lengths = rng.sample(range(4), 3), [rng.randrange(1, 3 * size + 1) for _ in range(3)]
        add("batch", size, *_decodes(rows, lengths, 3 + size))
    add("batch", 4, [[2, 0, 4], [0, 0, 4], [1, 4, 8]])
    add("batch", 4, [[1, 5, 8], [3, 4, 5], [0, 2, 4], [2, 3, 9]])
    for size in (2, 4, 16):
        add("nothing", size, [[rng.randrange(4), 1, 2], [rng.randrange(4), size + 1, 2 * size]][: size - 1])
        add("nothing", size, [])
    return found


def _decodes(rows: list[int], lengths: list[int], steps: int) -> list[Step]:
    """A prefill of these lengths, then decodes of one token each."""
    found: list[Step] = [[[row, 0, length] for row, length in zip(rows, lengths, strict=True)]]
    for _ in range(steps):
        found.append([[row, end, end + 1] for row, _, end in found[-1]])
    return found


def _batch(rng: random.Random, size: int) -> Step:
    """Two to four requests anywhere in their prompts, one of them new; rows in no order."""
    rows = rng.sample(range(4), rng.randrange(2, 5))
    starts = [0, *(rng.randrange(3 * size) for _ in rows[1:])]
    rng.shuffle(starts)
    return [
        [row, start, start + rng.randrange(1, 2 * size + 2)] for row, start in zip(rows, starts, strict=True)
    ]


def _pool(rng: random.Random, size: int, steps: list[Step]) -> dict[str, Any]:
    """Free pages in no order; a table full of locations that may be anybody's."""
    longest = max((end for step in steps for _, _, end in step), default=1)
    width = -(-longest // size) * size + size
    needed = sum(-(-end // size) - -(-start // size) for step in steps for _, start, end in step)
    # some to spare: whoever takes too many is to be told so, and not to run out
    num_pages = max(2, size) * needed + sum(map(len, steps)) + rng.randrange(1, 6)
    pages = rng.sample(range(num_pages), num_pages)
    table = [[rng.randrange(num_pages * size) for _ in range(width)] for _ in range(5)]
    return {
        "page_size": size,
        "num_pages": num_pages,
        "free": int32(page * size for page in pages),
        "table": int32_rows(table),
        "steps": steps,
    }


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """After each call table, free slots, how many pages were asked for, and the requests."""
    from minisgl.scheduler.cache import CacheManager

    manager = CacheManager(case["num_pages"], case["page_size"], case["table"], "naive")
    manager.free_slots = case["free"]
    allocate, asked = manager._allocate, []

    def noticed(needed_pages):
        asked.append(int(needed_pages))
        return allocate(needed_pages)

    manager._allocate = noticed
    for step in case["steps"]:
        requests = [
            io.obj(uid=row, table_idx=row, cached_len=start, device_len=end) for row, start, end in step
        ]
        target(manager, requests)
        left = [[req.table_idx, req.cached_len, req.device_len] for req in requests]
        io.emit([manager.page_table, manager.free_slots, asked[:], left])
        asked.clear()


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Call by call: how many pages, in how many allocations, then what is in the rows."""
    if len(got) != len(expected):
        return Broken(1, NO_RESULT)
    size, before = case.data["page_size"], case.data["table"]
    for step, due, seen in zip(case.data["steps"], expected, got, strict=True):
        if not isinstance(seen, list) or len(seen) != 4:
            return Broken(1, NO_RESULT)
        broken = _check_asked(due, seen) or _check_table(step, size, before, due[0], seen[0])
        if broken := broken or _check_rest(due, seen):
            return broken
        before = due[0]
    return None


def _check_asked(due: list[Any], seen: list[Any]) -> Broken | None:
    asked = seen[2]
    if not isinstance(asked, list) or not all(type(count) is int for count in asked):
        return Broken(2, NO_RESULT)
    pages, right = sum(asked), sum(due[2])
    if pages > right:
        zh = f"这一步只缺 {right} 页，却分了 {pages} 页。"
        en = f"Pages missing in this step: {right}; allocated: {pages}."
        return Broken(1, {"zh": zh, "en": en})
    if pages < right:
        zh = f"这一步缺 {right} 页，只分了 {pages} 页。"
        en = f"Pages missing in this step: {right}; allocated: {pages}."
        return Broken(1, {"zh": zh, "en": en})
    if len([count for count in asked if count]) > 1:
        zh = f"一批里调用了 {len(asked)} 次 `_allocate`，应当是一次。"
        en = f"`_allocate` is called {len(asked)} times for one batch; once is due."
        return Broken(2, {"zh": zh, "en": en})
    return None


def _check_table(step: Step, size: int, before: TensorData, due: TensorData, seen: Any) -> Broken | None:
    if not is_int32(seen, 2) or seen.shape != due.shape:
        zh, en = "页表不再是原来那样的 int32 张量。", "The page table is not the int32 tensor that it was."
        return Broken(6, {"zh": zh, "en": en})
    if seen == due:
        return None
    old, right, mine = before.tolist(), due.tolist(), seen.tolist()
    written: set[tuple[int, int]] = set()
    for row, start, end in step:
        first, last = -(-start // size) * size, -(-end // size) * size
        written |= {(row, position) for position in range(first, last)}
        if first < last and mine[row][start:first] != old[row][start:first]:
            zh = "请求已有的那一页被改写了：新的页从 `first_page * page_size` 写起。"
            en = "A page that the request has is written again: new ones begin at `first_page * page_size`."
            return Broken(4, {"zh": zh, "en": en})
        if broken := _check_row(size, right[row][first:last], mine[row][first:last], old[row][first:last]):
            return broken
    zh = "这些页之外，页表里还有别的格被改动了。"
    en = "Other entries of the page table than those of these pages are changed."
    return Broken(6, {"zh": zh, "en": en})


def _check_row(size: int, due: list[int], seen: list[int], old: list[int]) -> Broken | None:
    """The positions of a request's new pages."""
    if seen == due:
        return None
    written = next((n for n, pair in enumerate(zip(seen, due, strict=True)) if pair[0] != pair[1]), 0)
    if written and seen[written:] == old[written:]:
        zh = "新的一页没有写满：后面几格还是原来的数，而以后的 token 会用到它们。"
        en = (
            "A new page is not written whole: its last entries are what they were, and later tokens use them."
        )
        return Broken(4, {"zh": zh, "en": en})
    firsts = [place // size for place in due]
    if seen in ([place * size for place in firsts], firsts):
        zh = "行里写的是页，不是每个 token 各自的位置号。"
        en = "What is in the row are pages, not a location for each token."
        return Broken(5, {"zh": zh, "en": en})
    zh = "行里的位置号不是按次序分到的那些页的。"
    en = "The locations in the row are not those of the pages due to it, in order."
    return Broken(3, {"zh": zh, "en": en})


def _check_rest(due: list[Any], seen: list[Any]) -> Broken | None:
    if not same(due[1], seen[1]):
        zh = "空闲表不是取走这些页之后该有的样子；页只能经 `_allocate` 取。"
        en = "The free list is not what taking these pages leaves; pages are taken by `_allocate` alone."
        return Broken(2, {"zh": zh, "en": en})
    if not same(due[3], seen[3]):
        zh = "请求的字段变了；长度由调度器来改。"
        en = "Fields of a request are changed; lengths are the scheduler's to change."
        return Broken(6, {"zh": zh, "en": en})
    return None


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """The default runs; a pool in which two requests of a batch make the cache evict, both at once."""
    calls = [[P(0, 20)], [P(1, 20)], [P(2, 17), P(3, 15)], [P(0, 20), P(4, 13)]]
    return [
        *default_jobs(),
        EngineJob(name="eviction for two requests at once", calls=calls, page_size=4, slots=64),
        EngineJob(name="pages of 16", calls=calls, page_size=16, slots=96),
    ]


_RIGHT = """\
def allocate_paged(self, reqs):
    size = self.page_size
    spans = [(-(-req.cached_len // size), -(-req.device_len // size)) for req in reqs]
    needed = sum(last - first for first, last in spans)
    if needed == 0:
        return
    locations = self._page_to_token(self._allocate(needed))
    taken = 0
    for req, (first, last) in zip(reqs, spans):
        begin, end = first * size, last * size
        self.page_table[req.table_idx, begin:end] = locations[taken : taken + end - begin]
        taken += (last - first) * size
"""
_PER_REQUEST = """\
def allocate_paged(self, reqs):
    size = self.page_size
    for req in reqs:
        first, last = -(-req.cached_len // size), -(-req.device_len // size)
        if first < last:
            locations = self._page_to_token(self._allocate(last - first))
            self.page_table[req.table_idx, first * size : last * size] = locations
"""

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "-(-req.cached_len // size)", "req.cached_len // size"),
        zh="半满的页会被重复分配：`cached_len` 这一端也要向上取整。",
        en="The half-full page is allocated again: round up at `cached_len` as well.",
    ),
    Mutant(
        "b",
        instead(
            _RIGHT,
            "begin, end = first * size, last * size",
            "begin, end = first * size, max(first * size, req.device_len)",
        ),
        zh="要写满整页，后面的 token 会用：到时候不再分，行里却没有它们的位置号。",
        en="Write the whole page; later tokens use it, and by then nothing is allocated for them.",
    ),
    Mutant(
        "c",
        instead(
            _RIGHT,
            "self._page_to_token(self._allocate(needed))",
            "self._allocate(needed).repeat_interleave(size)",
        ),
        zh="页表存的是 token 的位置号，不是页：用 `_page_to_token` 换一下。",
        en="The table holds token locations, not pages: turn them over with `_page_to_token`.",
    ),
    Mutant(
        "d",
        _PER_REQUEST,
        zh="先数完全部请求要几页，再一次要来：逐个要，就可能逐个淘汰。",
        en="Count the pages of all requests, then ask once: one by one, each may evict.",
    ),
    Mutant(
        "e",
        instead(
            _RIGHT,
            "-(-req.device_len // size))",
            "-(-req.cached_len // size) + -(-(req.device_len - req.cached_len) // size))",
        ),
        zh="页数不由这一步的 token 数决定：最后一页里可能还有空位，看两端落在哪一页。",
        en="Pages do not follow from new tokens alone: the last one may have room. See where both ends are.",
    ),
    Mutant(
        "f",
        instead(
            _RIGHT,
            "for req, (first, last) in zip(reqs, spans):",
            "for req, (first, last) in reversed(list(zip(reqs, spans))):",
        ),
        zh="页要按请求在列表里的次序分，先来的先分。",
        en="Pages go to requests in list order; the first in the list gets the first ones.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "self._allocate(needed)", "self._allocate(needed * size)"),
        zh="`_allocate` 要的是页数，不是 token 数。",
        en="`_allocate` takes a number of pages, not of tokens.",
    ),
    Mutant(
        "h",
        instead(
            _RIGHT,
            "begin, end = first * size, last * size",
            "begin, end = req.cached_len, req.cached_len + (last - first) * size",
        ),
        zh="不从 `cached_len` 写起：半满的那一页早就在行里，新的页在它后面。",
        en="Do not begin at `cached_len`: the half-full page is in the row already, and new ones follow it.",
    ),
]
