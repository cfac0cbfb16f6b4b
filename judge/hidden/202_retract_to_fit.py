"""Hidden tests of 202 `retract_to_fit`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, is_int, outcome
from judge.harness.compare import same
from judge.jobs import P
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("one", "请走一个", "one has to go"),
    Group("several", "请走好几个", "several have to go"),
    Group("shared", "有共用的页", "some pages are shared"),
    Group("watermark", "水位线", "the watermark"),
    Group("nobody", "谁也不用走", "nobody has to go"),
    Group("alone", "只剩一个", "only one is left"),
]

# --- Cases ------------------------------------------------------------------------------------

Request = dict[str, Any]


class Pool:
    """Requests of a pool, drawn one by one in the order of admission."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.size = rng.choice((1, 2, 4, 16))
        self._uids = rng.sample(range(90), 12)

    def request(self, pages: int, need: int = 1, shared: int = 0) -> Request:
        """``need``: pages that its next token takes, 0 or 1; a page of one token is always needed."""
        rng, size = self.rng, self.size
        if need or size == 1:
            cached = pages * size
        else:
            cached = pages * size - rng.randrange(1, size)
        length = cached + 1
        prompt = rng.randrange(1, length + 1)
        ids = [rng.randrange(500) for _ in range(length)]
        return {
            "uid": self._uids.pop(),
            "cached_len": cached,
            "device_len": cached + 1,
            "pages": pages,
            "shared_pages": shared,
            "prompt": ids[:prompt],
            "output": ids[prompt:],
            "max_tokens": length - prompt + rng.randrange(1, 9),
        }

    def in_part(self, pages: int) -> Request:
        """Its prompt is computed in part, and none of it in this step."""
        request = self.request(pages)
        request |= {"prompt": request["prompt"] + request["output"], "output": []}
        return request | {"device_len": request["cached_len"]}


def cases(rng: random.Random) -> list[Case]:
    """About 45 calls with none to eight requests; page sizes 1, 2, 4, 16, watermarks 0 to 3."""
    found: list[Case] = []

    def add(group: str, pool: Pool, running: list[Request], free: int, watermark: int) -> None:
        data = {"running": running, "free": free, "page_size": pool.size, "watermark": watermark}
        found.append(Case(group, data))

    for watermark in (0, 0, 1, 2, 3):
        pool = Pool(rng)
        older = [pool.request(rng.randrange(2, 6)) for _ in range(rng.randrange(1, 5))]
        last = pool.request(rng.randrange(watermark + 2, 7))
        # all but the last need as many pages as are free, less the watermark
        add("one", pool, [*older, last], len(older) + watermark, watermark)
        add("one", pool, [*older, last], len(older) + watermark - rng.randrange(1, 3), watermark)
    pool = Pool(rng)
    add("one", pool, [pool.request(3), pool.request(2), pool.in_part(4)], 1, 0)
    for watermark in (0, 0, 1, 2):
        pool = Pool(rng)
        running = [pool.request(1) for _ in range(rng.randrange(6, 9))]
        add("several", pool, running, watermark, watermark)
        add("several", pool, running, watermark + 1, watermark)
        pool = Pool(rng)
        pool.size = rng.choice((2, 4, 16))
        running = [pool.request(2), pool.request(1), *(pool.request(1, need=0) for _ in range(4))]
        add("several", pool, running, 0, watermark)
    for watermark in (0, 1):
        pool = Pool(rng)
        mine, other = pool.request(4), pool.request(4)
        add("shared", pool, [mine, other, pool.request(3, shared=3)], 1 + watermark, watermark)
        add("shared", pool, [mine, other, pool.request(5, shared=4), pool.request(2, shared=2)], 1, watermark)
        running = [pool.request(4), pool.request(3, shared=2), pool.request(3, shared=1)]
        add("shared", pool, running, watermark, watermark)
    for watermark in (1, 2, 3):
        pool = Pool(rng)
        running = [pool.request(2) for _ in range(3)]
        add("watermark", pool, running, 3 + watermark - 1, watermark)
        add("watermark", pool, [*running, pool.request(1)], 3, watermark)
        add("watermark", pool, running[:2], 2, watermark)
    for watermark in (0, 1, 2):
        pool = Pool(rng)
        running = [pool.request(2) for _ in range(rng.randrange(1, 6))]
        add("nobody", pool, running, len(running) + watermark, watermark)
        add("nobody", pool, running, len(running) + watermark + rng.randrange(1, 5), watermark)
        pool = Pool(rng)
        pool.size = rng.choice((2, 4, 16))
        running = [pool.request(rng.randrange(1, 5), need=0) for _ in range(rng.randrange(2, 6))]
        add("nobody", pool, running, rng.randrange(watermark + 1), watermark)
    add("nobody", Pool(rng), [], 0, 2)
    for watermark in (0, 1, 3):
        pool = Pool(rng)
        first = pool.request(3)
        add("alone", pool, [first], 1, watermark)
        add("alone", pool, [first], 0, watermark)
        running = [first, *(pool.request(1, shared=1) for _ in range(rng.randrange(1, 4)))]
        add("alone", pool, running, 1, watermark)
        add("alone", pool, running, 0, watermark)
    return found


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """One call; what it returned or raised, then the requests."""
    io.emit(io.attempt(target, case["running"], case["free"], case["page_size"], case["watermark"]))
    io.emit(case["running"])


# --- Outside again: the checker -----------------------------------------------------------------

_KEYS = {"uid", "input_ids", "max_tokens"}


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Errors and types first, then who goes, then with what, then the inputs."""
    if len(got) != len(expected):
        return Broken(6, NO_RESULT)
    if text := outcome(expected[0], got[0]):
        return Broken(5 if len(case.data["running"]) else 6, text)
    if "value" in expected[0]:
        due, seen = expected[0]["value"], got[0]["value"]
        if broken := _check_types(seen) or _check_who(case.data, due, seen) or _check_what(due, seen):
            return broken
    if not same(expected[1], got[1]):
        zh, en = "调用之后传入的列表或字典变了。", "A list or dict passed in is changed after the call."
        return Broken(6, {"zh": zh, "en": en})
    return None


def _check_types(seen: Any) -> Broken | None:
    right = isinstance(seen, list) and all(
        isinstance(one, dict)
        and set(one) == _KEYS
        and is_int(one["uid"])
        and is_int(one["max_tokens"])
        and isinstance(one["input_ids"], list)
        for one in seen
    )
    if right:
        return None
    zh = "返回的不是字典的列表，每个恰好有 `uid`、`input_ids`、`max_tokens`。"
    en = "What is returned is no list of dicts with exactly `uid`, `input_ids` and `max_tokens`."
    return Broken(6, {"zh": zh, "en": en})


def _check_who(data: dict[str, Any], due: list[Request], seen: list[Request]) -> Broken | None:
    mine, right = [one["uid"] for one in seen], [one["uid"] for one in due]
    if mine == right:
        return None
    latest = [one["uid"] for one in reversed(data["running"])]
    if mine != latest[: len(mine)]:
        zh, en = (
            "走的不是最晚接纳的，或者次序不对。",
            "It is not the latest admitted that go, or not in that order.",
        )
        return Broken(3, {"zh": zh, "en": en})
    if not right and len(mine) and _need(data, data["running"]) == 0:
        zh, en = "没有人要新页，却有人被请走。", "Nobody needs a new page, and yet somebody has to go."
        return Broken(2, {"zh": zh, "en": en})
    if len(mine) > len(right):
        zh, en = "已经够了，还有人被请走。", "It was enough, and yet one more has to go."
        return Broken(2, {"zh": zh, "en": en})
    kept = data["running"][: len(data["running"]) - len(mine)]
    gone = data["running"][len(kept) :]
    free = data["free"] + sum(one["pages"] - one["shared_pages"] for one in gone)
    if _need(data, kept) > free:
        zh, en = (
            "请走了这些人，下一步的页还是不够。",
            "With these gone, the pages still do not suffice for the next step.",
        )
        return Broken(4, {"zh": zh, "en": en})
    zh, en = (
        "请走了这些人，空闲页还是低于水位线。",
        "With these gone, fewer pages are left than the watermark asks for.",
    )
    return Broken(2, {"zh": zh, "en": en})


def _need(data: dict[str, Any], running: list[Request]) -> int:
    size = data["page_size"]
    return sum(-(-one["device_len"] // size) - -(-one["cached_len"] // size) for one in running)


def _check_what(due: list[Request], seen: list[Request]) -> Broken | None:
    for right, mine in zip(due, seen, strict=True):
        if not same(right["input_ids"], mine["input_ids"]):
            zh, en = (
                "`input_ids` 不是 `prompt` 接上 `output`。",
                "`input_ids` is not `prompt` followed by `output`.",
            )
            return Broken(6, {"zh": zh, "en": en})
        if right["max_tokens"] != mine["max_tokens"]:
            zh = "`max_tokens` 不是还可以生成的个数。"
            return Broken(6, {"zh": zh, "en": "`max_tokens` is not how many it may still generate."})
    return None


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """Optimistic admission: 24 tokens for requests that want more; the same with a prefix in common, so that
    who goes frees little; and one that is alone and needs the watermark's pages.
    """
    optimistic = {"admission": "optimistic", "watermark": 1}
    apart = [P(0, 5), P(1, 5), P(2, 4)]
    together = [P(0, 8) + P(i, 2) for i in range(3, 8)]
    last = {"admission": "optimistic", "watermark": 3}
    return [
        EngineJob("24 tokens", [apart, apart], slots=24, scheduler=optimistic),
        EngineJob("24 tokens, page size 4", [apart, together], slots=24, page_size=4, scheduler=optimistic),
        EngineJob("24 tokens, a prefix in common", [together[:1], together], slots=24, scheduler=optimistic),
        EngineJob("the watermark's pages for the last", [apart, apart[:1]], slots=13, scheduler=last),
    ]


_RIGHT = """\
from minisgl.utils import cdiv


def retract_to_fit(running, free_pages, page_size, watermark):
    kept, back = list(running), []
    while True:
        need = sum(cdiv(r["device_len"], page_size) - cdiv(r["cached_len"], page_size) for r in kept)
        spare = watermark if len(kept) > 1 else 0
        if need == 0 or need <= free_pages - spare:
            return back
        if len(kept) == 1:
            raise RuntimeError(f"{need} pages are needed, {free_pages} can be had")
        req = kept.pop()
        free_pages += req["pages"] - req["shared_pages"]
        ids, left = req["prompt"] + req["output"], req["max_tokens"] - len(req["output"])
        back.append({"uid": req["uid"], "input_ids": ids, "max_tokens": left})
"""

MUTANTS = [
    Mutant(
        "a",
        instead(_RIGHT, "kept.pop()", "kept.pop(0)"),
        zh="应撤回最晚接纳的：最早的算得最多，损失最大。",
        en="The latest admitted goes: the oldest has most to lose.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, 'req["pages"] - req["shared_pages"]', 'req["pages"]'),
        zh="共享页仍被别人持有，它走了也不会空出来。",
        en="Shared pages are not freed: others still hold them.",
    ),
    Mutant(
        "c",
        instead(
            _RIGHT,
            'req["prompt"] + req["output"], req["max_tokens"] - len(req["output"])',
            'req["prompt"], req["max_tokens"]',
        ),
        zh="已输出的 token 要并入输入：它们早就发给用户了。",
        en="The output tokens were sent to the user: keep them as input.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "watermark if len(kept) > 1 else 0", "0"),
        zh="没有留出水位线，下一步又要撤回。",
        en="Without the watermark the next step would retract again.",
    ),
    Mutant(
        "e",
        instead(_RIGHT, "watermark if len(kept) > 1 else 0", "watermark"),
        zh="只剩一个时不看水位线：留下的页没有别人要用。",
        en="One that is alone ignores the watermark: nobody else could use what is left.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "need == 0 or need", "need"),
        zh="没有人要新页，就谁也不用走，哪怕空闲页低于水位线。",
        en="Where nobody needs a page nobody goes, even below the watermark.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, 'req["max_tokens"] - len(req["output"])', 'req["max_tokens"]'),
        zh="已经生成的要从 `max_tokens` 里减掉，不然它会写得比用户要的长。",
        en="Take what has been generated off `max_tokens`, or it writes more than the user asked for.",
    ),
    Mutant(
        "h",
        instead(
            _RIGHT,
            'cdiv(r["device_len"], page_size) - cdiv(r["cached_len"], page_size)',
            'r["device_len"] - r["cached_len"]',
        ),
        zh="要的是页，不是 token：多数请求的尾页还有空位，一页也不要。",
        en="Count pages, not tokens: the last page of most requests has room, and they need none.",
    ),
]
