"""Hidden tests of 186 `plan_num_pages`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, is_int, outcome
from judge.harness.compare import same
from judge.jobs import P
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("one", "一张卡", "one rank"),
    Group("ranks", "两三张卡", "two or three ranks"),
    Group("override", "指定了页数", "the number is given"),
    Group("small", "够不够两页", "whether two pages fit"),
]
_MIB = 1 << 20

# --- Cases ------------------------------------------------------------------------------------


def cases(rng: random.Random) -> list[Case]:
    """About 35 calls. No room is within rounding of a whole number of pages, or all of it is exact."""
    found: list[Case] = []

    def add(group: str, memory: list[tuple[int, int]], ratio: float, page: int, override: int | None) -> None:
        before, after = (list(column) for column in zip(*memory, strict=True))
        data = {"before": before, "after": after, "ratio": ratio, "page": page, "override": override}
        found.append(Case(group, data))

    for _ in range(4):
        ratio, page = rng.choice((0.9, 0.85, 0.7)), _page(rng)
        add("one", [_rank(rng, ratio, page, rng.randrange(900, 9000))], ratio, page, None)
    for pages in (3, 4, rng.randrange(5, 30)):  # powers of two: nothing is rounded
        for ratio in (0.5, 1.0):
            add("one", [_exact(rng, ratio, 10, pages, 0)], ratio, 10, None)
            add("one", [_exact(rng, ratio, 10, pages, 9)], ratio, 10, None)
    for count in (2, 3, 3, 2):
        ratio, page = rng.choice((0.9, 0.8)), _page(rng)
        pages = rng.sample(range(900, 9000), count)
        memory = [_rank(rng, ratio, page, each) for each in pages]
        add("ranks", memory, ratio, page, None)
    # least free after loading, least free before it, and least room are three ranks
    add("ranks", [(1000, 400), (800, 520), (1200, 590)], 1.0, 10, None)
    add("ranks", [(1000, 900), (1000, 700), (800, 800)], 0.5, 10, None)
    for override in (2, 3, rng.randrange(4, 9999)):
        add("override", [_rank(rng, 0.9, 1024, rng.randrange(900, 2000))], 0.9, 1024, override)
    add("override", [(0, 0), (0, 0)], 0.9, 1024, rng.randrange(2, 99))
    add("override", [(64 * _MIB, 1 * _MIB)], 0.5, 1024, rng.randrange(2, 99))
    for override in (0, 1, -3):
        add("override", [_rank(rng, 0.9, 1024, 500)], 0.9, 1024, override)
    for room in (30, 29, 20, 10, 9, 0, 35):
        add("small", [(room * 2, room * 2)], 0.5, 10, None)
    add("small", [(500, 500), (500, 20)], 1.0, 10, None)
    add("small", [(64 * _MIB, 1 * _MIB)], 0.5, 1024, None)  # the weights took more than the share
    return found


def _page(rng: random.Random) -> int:
    """Bytes of a page of 1, 4 or 16 tokens of some model."""
    return rng.choice((1, 4, 16)) * rng.choice((114_688, 131_072, 24_576))


def _rank(rng: random.Random, ratio: float, page: int, pages: int) -> tuple[int, int]:
    """Free bytes before and after: the room holds so many pages and about half of another."""
    weights = rng.randrange(200, 4000) * _MIB
    before = int((weights + pages * page + page // 2) / ratio)
    return before, before - weights


def _exact(rng: random.Random, ratio: float, page: int, pages: int, more: int) -> tuple[int, int]:
    """The same for a ratio of which nothing is rounded; the room has ``more`` bytes beside whole pages."""
    weights = 2 * rng.randrange(20, 90)
    before = int((weights + pages * page + more) / ratio)
    return before, before - weights


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the lists."""
    more = [] if case["override"] is None else [case["override"]]
    io.emit(io.attempt(target, case["before"], case["after"], case["ratio"], case["page"], *more))
    io.emit([case["before"], case["after"]])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors first, then the number, then the arguments."""
    if len(got) != len(expected):
        return Broken(4, NO_RESULT)
    override = case.data["override"]
    due, seen = expected[0], got[0]
    if text := outcome(due, seen):
        return Broken(5 if "error" in due or override is None else 1, text)
    if "value" in due and not (is_int(seen["value"]) and seen["value"] == due["value"]):
        return _why(case.data, due["value"], seen["value"])
    if not same(expected[1], got[1]):
        return Broken(5, {"zh": "调用之后有参数变了。", "en": "An argument is changed after the call."})
    return None


def _why(data: dict[str, Any], due: int, seen: Any) -> Broken:
    if not is_int(seen):
        return Broken(4, {"zh": "返回的不是整数。", "en": "What is returned is no integer."})
    if data["override"] is not None:
        return Broken(1, {"zh": "返回的不是指定的页数。", "en": "What is returned is not the number given."})
    if seen == due + 1:
        zh, en = "多了一页。", "There is one page too many."
        return Broken(4, {"zh": zh, "en": en})
    if len(data["before"]) > 1 and any(seen == pages for pages in _each(data)):
        zh, en = "返回的页数不是每张卡都放得下。", "Not every rank has room for so many pages."
        return Broken(3, {"zh": zh, "en": en})
    zh, en = ("少", "few") if seen < due else ("多", "many")
    return Broken(2, {"zh": f"返回的页数太{zh}。", "en": f"What is returned is too {en} pages."})


def _each(data: dict[str, Any]) -> list[int]:
    """What each rank would have by itself."""
    pairs = zip(data["before"], data["after"], strict=True)
    rooms = [int(data["ratio"] * before) - (before - after) for before, after in pairs]
    return [room // data["page"] - 1 for room in rooms]


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Faked reports of free memory. T0 has 512 bytes of KV a token, and on a GPU twice as many.

    The last pool is so small that requests wait for each other.
    """
    calls = [[P(0, 5), P(1, 5), P(2, 4), P(3, 15)], [P(0, 5), P(4, 9)]]
    ranks = ([200_000, 180_000, 220_000], [150_000, 140_000, 130_000])
    half = {"memory_ratio": 0.5}
    return [
        EngineJob(name="one rank", calls=calls, free_memory=([200_000], [150_000])),
        EngineJob(name="three ranks", calls=calls, page_size=4, free_memory=ranks),
        EngineJob(name="a tight pool", calls=calls, free_memory=([90_000], [85_000]), scheduler=half),
    ]


_RIGHT = """\
def plan_num_pages(free_before, free_after, memory_ratio, page_bytes, override=None):
    pages = override
    if override is None:
        rooms = []
        for before, after in zip(free_before, free_after):
            rooms.append(int(memory_ratio * before) - (before - after))
        pages = min(rooms) // page_bytes - 1
    if pages < 2:
        raise ValueError(f"{pages} pages are too few")
    return pages
"""

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "int(memory_ratio * before) - (before - after)", "int(memory_ratio * after)"),
        zh="比例应乘以加载前的空闲显存，不是剩下的。",
        en="The ratio applies to what was free before loading, not to what is left.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "min(rooms)", "max(rooms)"),
        zh="各卡要一致，取最小值：不然最挤的那张放不下。",
        en="All ranks need the same pool: take the least, or one of them cannot hold it.",
    ),
    Mutant(
        "c",
        instead(_RIGHT, "page_bytes - 1", "page_bytes"),
        zh="漏算了填充用的那一页：池子里还有它。",
        en="The pool has one more page, for padding: leave room for it.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "    if override is None:", "    if not override:"),
        zh="0 也是指定了一个值：用 `is None` 判断有没有指定。",
        en="0 is a number that was given, too: test with `is None`.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, "int(memory_ratio * before) - (before - after)", "int(memory_ratio * before)"),
        zh="权重占掉的还没有减：这些字节已经用了。",
        en="What the weights took is not subtracted: these bytes are used already.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "    if pages < 2:", "    if override is None and pages < 2:"),
        zh="指定的页数也要检查：少于 2 页，引擎跑不起来。",
        en="Check an override, too: with fewer than 2 pages no engine runs.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "pages = min(rooms) // page_bytes - 1", "pages = -(-min(rooms) // page_bytes) - 1"),
        zh="要向下取整：放不下的半页不算。",
        en="Round down: a page that fits in part does not count.",
    ),
]
