"""Hidden tests of 197 `evict`."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead
from judge.authoring.sentences import NO_RESULT, outcome
from judge.harness.compare import same
from judge.jobs import P, default_jobs
from judge.sandbox.tensors import TensorData
from judge.types import Broken, Case, EngineJob, Group, Mutant

GROUPS = [
    Group("order", "最久没用的先走", "the least recently used first"),
    Group("parents", "孩子走光的父结点", "parents left without children"),
    Group("locks", "有人锁着", "where somebody holds a lock"),
    Group("limits", "一个也不要，或者要得太多", "none at all, or too many"),
    Group(
        "any_order", "任意次序的插入、匹配、上锁与淘汰", "inserting, matching, locking, evicting in any order"
    ),
]

Step = list[Any]

# --- Cases ------------------------------------------------------------------------------------


class Script:
    """Steps, each a list: what to do, then with what. Handles are numbered as they come.

    ``stamp`` gives the node of a handle a timestamp, so that two leaves can have the same.
    """

    def __init__(self, rng: random.Random, page_size: int) -> None:
        self.steps: list[Step] = []
        self.handles = 0
        self.size = page_size
        self._pages = rng.sample(range(400), 200)
        self._rng = rng

    def insert(self, pages: list[int]) -> int:
        """A sequence, named by its pages; page p holds the tokens p * size and following."""
        where = [self._pages.pop() for _ in pages]
        self.steps.append(["insert", self._whole(pages), self._whole(where)])
        return self._handle()

    def match(self, pages: list[int]) -> int:
        """What is cached of a sequence is used again."""
        self.steps.append(["match", self._whole(pages)])
        return self._handle()

    def lock(self, handle: int) -> None:
        self.steps.append(["lock", handle])

    def unlock(self, handle: int) -> None:
        self.steps.append(["unlock", handle])

    def stamp(self, handle: int, time: int) -> None:
        self.steps.append(["stamp", handle, time])

    def evict(self, pages: int, more: int = 0) -> None:
        self.steps.append(["evict", pages * self.size + more])

    def case(self, group: str) -> Case:
        return Case(group, {"page_size": self.size, "steps": self.steps})

    def _whole(self, pages: list[int]) -> list[int]:
        return [page * self.size + offset for page in pages for offset in range(self.size)]

    def _handle(self) -> int:
        self.handles += 1
        return self.handles - 1


def cases(rng: random.Random) -> list[Case]:
    """About 30 scripts, page sizes 1 and 2."""
    found: list[Case] = []
    for size in (1, 2):
        makers = (
            _touched,
            _ties,
            _chain,
            _forks,
            _tied_parents,
            _held_parent,
            _held_leaf,
            _let_go,
            _bounds,
            _nothing,
        )
        for make in makers:
            script = Script(rng, size)
            found.append(script.case(make(rng, script)))
        found += [_random(rng, size) for _ in range(5)]
    return found


def _touched(rng: random.Random, script: Script) -> str:
    """Leaves of different lengths below the root, some used again; one after the other goes."""
    runs = [[100 * number + place for place in range(rng.randrange(1, 5))] for number in range(5)]
    for run in runs:
        script.insert(run)
    for run in rng.sample(runs, 2):
        script.match(run)
    for _ in runs:
        script.evict(1)
    return "order"


def _ties(rng: random.Random, script: Script) -> str:
    """Four leaves of the same time: the number decides. One that is older goes before them."""
    handles = [script.insert([100 * number, 100 * number + 1]) for number in range(5)]
    oldest = rng.choice(handles)
    for handle in handles:
        script.stamp(handle, 3 if handle == oldest else 9)
    script.evict(3)
    script.evict(7)
    return "order"


def _chain(rng: random.Random, script: Script) -> str:
    """One sequence cut twice by matches; all of it goes, from its end up."""
    length = rng.randrange(6, 10)
    run = list(range(length))
    script.insert(run)
    for end in rng.sample(range(1, length), 2):
        script.match(run[:end])
    script.evict(1)
    script.evict(length - rng.randrange(2, 5))
    return "parents"


def _forks(rng: random.Random, script: Script) -> str:
    """Two families that fork twice; one call takes leaves and, in between, parents."""
    for family in rng.sample((0, 100), 2):
        script.insert([family, family + 1, family + 2, family + 3])
        script.insert([family, family + 1, family + 20, family + 21])
        script.insert([family, family + 30])
    script.match([rng.choice((0, 100))])
    script.evict(rng.randrange(3, 7))
    script.evict(rng.randrange(2, 4))
    script.evict(1)
    return "parents"


def _tied_parents(rng: random.Random, script: Script) -> str:
    """Two parents of the same time, whose numbers are the other way round than their children's."""
    first, second = rng.sample((0, 100, 200), 2)
    script.insert([first, first + 1])
    script.insert([second, second + 1, second + 2])
    for handle in (script.match([second]), script.match([first])):
        script.stamp(handle, 50)
    script.evict(4)
    return "parents"


def _held_parent(rng: random.Random, script: Script) -> str:
    """A lock on the upper part alone; below it everything goes, and then somebody younger."""
    run = [0, 1, 2, 3, 4]
    script.insert(run)
    held = script.match(run[:2])
    script.lock(held)
    script.insert([0, 1, 50])
    script.insert([200, 201, 202])
    script.evict(rng.randrange(5, 8))
    script.evict(0)
    script.unlock(held)
    script.evict(2)
    return "locks"


def _held_leaf(rng: random.Random, script: Script) -> str:
    """The oldest sequence is in use, by one or two; the younger one goes."""
    held = script.insert([0, 1, 2])
    script.insert([0, 1, 60, 61])
    script.insert([300])
    for _ in range(rng.randrange(1, 3)):
        script.lock(held)
    script.evict(2)
    script.evict(1)
    script.evict(1)
    return "locks"


def _let_go(rng: random.Random, script: Script) -> str:
    """Locked twice, given back twice; only then it can go."""
    held = script.insert([0, 1, 2])
    script.lock(held)
    script.lock(held)
    script.insert([rng.randrange(100, 200)])
    script.unlock(held)
    script.evict(1)
    script.evict(1)
    script.unlock(held)
    script.evict(3)
    return "locks"


def _bounds(rng: random.Random, script: Script) -> str:
    """Nothing; a token or a page more than there is, with locks, too; all that there is."""
    script.insert([0, 1, 2])
    held = script.insert([0, 1, 70])
    script.insert([rng.randrange(100, 200)])
    script.evict(0)
    script.evict(5, 1)
    script.lock(held)
    script.evict(2, 1)
    script.evict(0)
    script.evict(2)
    script.evict(1)
    return "limits"


def _nothing(rng: random.Random, script: Script) -> str:
    """An empty tree, and one where everything is in use."""
    script.evict(0)
    script.evict(1)
    script.lock(script.insert([rng.randrange(100), 200]))
    script.evict(1)
    script.evict(0)
    return "limits"


def _random(rng: random.Random, size: int) -> Case:
    """Sequences of one family and of another, in any order with locks; at the end all that can goes."""
    script, locked = Script(rng, size), list[int]()
    for _ in range(14):
        run = [rng.choice((0, 100)) + place for place in range(rng.randrange(1, 7))]
        cut = rng.randrange(1, 7)
        run[cut:] = [page + 10 * rng.randrange(3) for page in run[cut:]]
        what = rng.choice(("insert", "insert", "match", "lock", "unlock", "evict"))
        if what == "insert":
            script.insert(run)
        elif what == "match":
            script.match(run)
        elif what == "lock":
            locked.append(script.insert(run))
            script.lock(locked[-1])
        elif what == "unlock" and locked:
            script.unlock(locked.pop(rng.randrange(len(locked))))
        else:
            script.evict(rng.randrange(1, 4))
    for handle in locked:
        script.evict(1)
        script.unlock(handle)
    for _ in range(4):
        script.evict(rng.randrange(1, 6))
    return script.case("any_order")


# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """After each eviction what came of it; the tree, each node with its depth; both sizes; the clock."""
    import torch

    from minisgl.kvcache.radix_cache import RadixPrefixCache

    def int32(numbers):
        return torch.tensor(numbers, dtype=torch.int32)

    def tree(node, depth):
        rows = []
        for child in sorted(node.children.values(), key=lambda child: child._key.tolist()):
            rows.append([depth, child._key.tolist(), child.value.tolist(), child.ref_count, child.timestamp])
            rows += tree(child, depth + 1)
        return rows

    cache, handles = RadixPrefixCache(torch.device("cpu"), case["page_size"]), []
    for what, *given in case["steps"]:
        if what == "insert":
            handles.append(cache.insert_prefix(int32(given[0]), int32(given[1])).handle)
        elif what == "match":
            handles.append(cache.match_prefix(int32(given[0])).cuda_handle)
        elif what == "lock":
            cache.lock_handle(handles[given[0]])
        elif what == "unlock":
            cache.lock_handle(handles[given[0]], unlock=True)
        elif what == "stamp":
            handles[given[0]].node.timestamp = given[1]
        else:
            io.emit(io.attempt(target, cache, given[0]))
            io.emit([tree(cache.root_node, 1), list(cache.size_info), cache.clock])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """Step by step: error or none, what was given up, then the tree, the sizes, the clock."""
    sizes = [step[1] for step in case.data["steps"] if step[0] == "evict"]
    if len(got) != len(expected):
        return Broken(7, NO_RESULT)
    pairs = zip(sizes, expected[::2], got[::2], expected[1::2], got[1::2], strict=True)
    for size, due, seen, due_state, state in pairs:
        if broken := _check_result(size, due, seen) or _check_state(size, due, due_state, state):
            return broken
    return None


def _check_result(size: int, due: dict[str, Any], seen: Any) -> Broken | None:
    if text := outcome(due, seen):
        error = seen.get("error") if isinstance(seen, dict) else None
        # where a call should not have raised: RuntimeError comes of the check, IndexError of an empty heap
        unexpected = {"RuntimeError": 2, "IndexError": 6}.get(str(error), 5)
        return Broken(2 if "error" in due else 1 if size == 0 else unexpected, text)
    if "error" in due:
        return None
    right, mine = due["value"], seen["value"]
    if not isinstance(mine, TensorData) or mine.dtype != "int32" or len(mine.shape) != 1:
        zh, en = "返回的不是 int32 一维张量。", "What is returned is not an int32 tensor [freed]."
        return Broken(1 if size == 0 else 7, {"zh": zh, "en": en})
    if same(right, mine):
        return None
    freed, wanted = mine.tolist(), right.tolist()
    if size == 0:
        return Broken(1, {"zh": "要 0 个，却交出了位置。", "en": "Asked for 0, locations are given up."})
    if sorted(freed) == sorted(wanted):
        zh = "交出的位置是对的，次序不对：结点按走的先后，孩子先于父结点；结点之内按原来的次序。"
        en = (
            "The right locations are given up, but in another order: nodes as they go, children before their"
            " parent, and within a node its own order."
        )
        return Broken(7, {"zh": zh, "en": en})
    if len(freed) < size:
        zh, en = "交出的 token 少于要的。", "Fewer tokens are given up than were asked for."
        return Broken(4, {"zh": zh, "en": en})
    if freed == wanted[: len(freed)]:
        zh = "最后走的结点只交出了一部分位置：结点整个走，可以多于 `size`。"
        en = "Of the last node only a part is given up: whole nodes go, which may be more than `size`."
        return Broken(4, {"zh": zh, "en": en})
    if freed[: len(wanted)] == wanted:
        zh = "已经够了，却还多走了一个结点。"
        en = "It was enough, and yet one more node has gone."
        return Broken(4, {"zh": zh, "en": en})
    zh = "走的不是该走的结点：候选里 `(timestamp, uuid)` 最小的先走。"
    en = "The wrong nodes have gone: of the candidates the smallest `(timestamp, uuid)` is first."
    return Broken(3, {"zh": zh, "en": en})


def _check_state(size: int, due: dict[str, Any], right: list[Any], mine: Any) -> Broken | None:
    if not isinstance(mine, list) or len(mine) != 3:
        return Broken(7, NO_RESULT)
    if "error" in due or size == 0:
        if same(right, mine):
            return None
        if size == 0:
            return Broken(1, {"zh": "要 0 个，缓存却变了。", "en": "Asked for 0, the cache is changed."})
        zh, en = "报了错，缓存却已经变了。", "The call raised, and yet the cache is changed."
        return Broken(2, {"zh": zh, "en": en})
    if not same(right[0], mine[0]):
        zh = "交出的位置是对的，树却不对：走掉的要从父结点摘下，别的不动。"
        en = "The locations are right, the tree is not: who goes leaves its parent, all else stays."
        return Broken(5, {"zh": zh, "en": en})
    if not same(right[1], mine[1]):
        zh = "树是对的，`evictable_size` 与它不符。"
        en = "The tree is right, and `evictable_size` contradicts it."
        return Broken(5, {"zh": zh, "en": en})
    if not same(right[2], mine[2]):
        zh, en = "淘汰不是使用，时钟却走了。", "To evict is not to use, and yet the clock has ticked."
        return Broken(5, {"zh": zh, "en": en})
    return None


# --- Engine and mutants -------------------------------------------------------------------------


def engine_jobs() -> list[EngineJob]:
    """The default runs; 64 tokens, through which twelve prompts pass; and three small pools.

    A request that waits is matched in every step, so that its prefix is younger than what is in use. In the
    first pool a prompt of 52 tokens hits the 10 that two others share, and everything below them has to go,
    but not they. In the second a prompt lacks just as many tokens as the oldest leaf has. In the third a
    running request needs a page when its own prompt is the oldest leaf.
    """
    twelve = [[P(i, 20)] for i in range(12)]
    family = [[P(0, 10) + P(4, 3)], [P(0, 10) + P(5, 3)]]
    waits = P(3, 13) + P(8, 5)
    return [
        *default_jobs(),
        EngineJob(name="64 tokens, twelve prompts", calls=twelve, slots=64),
        EngineJob(
            name="64 tokens, a prefix in use",
            calls=[*family, [P(3, 13)], [P(0, 10) + P(7, 42), waits]],
            slots=64,
        ),
        EngineJob(name="40 tokens, just enough", calls=[*family, [P(6, 20)]], slots=40),
        EngineJob(name="40 tokens, the own prompt", calls=[[P(3, 13)], [P(7, 26), waits]], slots=40),
    ]


_RIGHT = """\
import heapq

import torch


def evict(self, size):
    if size == 0:
        return torch.empty(0, dtype=torch.int32)
    if size > self.evictable_size:
        raise RuntimeError(f"cannot evict {size} tokens: only {self.evictable_size} are evictable")
    heap, nodes = [], list(self.root_node.children.values())
    while nodes:
        node = nodes.pop()
        nodes += node.children.values()
        if node.is_leaf and node.ref_count == 0:
            heap.append((node.timestamp, node.uuid, node))
    heapq.heapify(heap)
    freed, count = [], 0
    while count < size:
        node = heapq.heappop(heap)[2]
        parent = node.parent
        del parent.children[self.key_fn(node._key)]
        self.evictable_size -= node.length
        count += node.length
        freed.append(node.value)
        if not parent.is_root and parent.is_leaf and parent.ref_count == 0:
            heapq.heappush(heap, (parent.timestamp, parent.uuid, parent))
    return torch.cat(freed)
"""
_JOINS = """\
        if not parent.is_root and parent.is_leaf and parent.ref_count == 0:
            heapq.heappush(heap, (parent.timestamp, parent.uuid, parent))
"""
_NO_MORE = "        if not heap:\n            raise RuntimeError(size)\n"
_CHECK = """\
    if size > self.evictable_size:
        raise RuntimeError(f"cannot evict {size} tokens: only {self.evictable_size} are evictable")
"""

MUTANTS = [
    Mutant(
        "a",
        instead(
            instead(_RIGHT, _JOINS, ""),
            "        node = heapq",
            "        if not heap:\n            break\n        node = heapq",
        ),
        zh="孩子没了，父结点也成叶子：它要在同一次调用里成为候选。",
        en="Without children a parent is a leaf, too: it becomes a candidate in the same call.",
    ),
    Mutant(
        "b",
        instead(_RIGHT, "parent.is_leaf and parent.ref_count == 0:", "parent.is_leaf:"),
        zh="父结点没有孩子了，却仍被请求锁住，不能淘汰。",
        en="The parent has no children left, but a running request needs it: it must stay.",
    ),
    Mutant(
        "c",
        instead(
            instead(_RIGHT, "(node.timestamp, node.uuid, node)", "(-node.timestamp, -node.uuid, node)"),
            "(parent.timestamp, parent.uuid, parent)",
            "(-parent.timestamp, -parent.uuid, parent)",
        ),
        zh="应先淘汰最久未用的，这里先走的是最新的。",
        en="Least recently used goes first; here it is the newest.",
    ),
    Mutant(
        "d",
        instead(_RIGHT, "        self.evictable_size -= node.length\n", ""),
        zh="可淘汰计数没有减：它许诺的空间已经不在了。",
        en="`evictable_size` is left as it was: it now promises space that is gone.",
    ),
    Mutant(
        "e",
        instead(instead(_RIGHT, _CHECK, ""), "        node = heapq", _NO_MORE + "        node = heapq"),
        zh="先查够不够，再动手：报错时已经走掉了几个，它们的位置谁也不知道。",
        en="Check before you act: when the error comes, some have gone, and nobody knows their locations.",
    ),
    Mutant(
        "f",
        instead(_RIGHT, "    while count < size:", "    while count <= size and heap:"),
        zh="够了就停：正好等于 `size` 时也是够了。",
        en="Stop when it is enough: just `size` is enough, too.",
    ),
    Mutant(
        "g",
        instead(_RIGHT, "        if node.is_leaf and node.ref_count == 0:", "        if node.is_leaf:"),
        zh="叶子正被请求锁住，不能淘汰。",
        en="A leaf that a request holds locked must stay.",
    ),
]
