"""Hidden tests of 198 `cache_tests`: a right prefix cache, met twice, and six wrong ones."""

from __future__ import annotations

import random
from typing import Any

from judge.authoring.mutants import instead, reference
from judge.authoring.sentences import NO_RESULT, is_int, refuse
from judge.harness.compare import error_name
from judge.types import Broken, Case, Group, Mutant, Planted

GROUPS = [
    Group("right", "放过对的实现", "the right cache is spared", weight=0.0),
    Group("a", "查出坏缓存：分叉与锁", "a broken cache: forks and locks"),
    Group("b", "查出坏缓存：解锁", "a broken cache: unlocking"),
    Group("c", "查出坏缓存：淘汰的次序", "a broken cache: the order of eviction"),
    Group("d", "查出坏缓存：整页", "a broken cache: whole pages"),
    Group("e", "查出坏缓存：已有的位置", "a broken cache: locations that are there"),
    Group("f", "查出坏缓存：孩子走光以后", "a broken cache: when the children have gone"),
]

PLANTED = [
    Planted(
        "a",
        zh="加锁后让这条边分叉，检查受保护的长度：上段也要继承锁。",
        en="Lock, let that edge fork, and look at the protected size: the upper part inherits the lock.",
    ),
    Planted(
        "b",
        zh="解锁后祖先也应可淘汰：锁一个分叉以后的句柄，解开，检查两个长度。",
        en="After an unlock ancestors must be evictable, too: lock below a fork, unlock, look at both sizes.",
    ),
    Planted(
        "c",
        zh="先访问最旧的，再淘汰：走的应当是那时最久没用的。",
        en="Touch the oldest, then evict: who goes is the least recently used by then.",
    ),
    Planted(
        "d",
        zh="页大小 4 时只匹配半页：命中的长度应是 4 的倍数。",
        en="Match half a page with page size 4: the length of the hit is a multiple of 4.",
    ),
    Planted(
        "e",
        zh="插入两次，位置不同，再比较：已有的位置应当不变。",
        en="Insert twice, with other locations, and compare: those that were there stay.",
    ),
    Planted(
        "f",
        zh="分叉以后一次淘汰全部：父结点也要走。",
        en="Evict everything in one call, after a fork: the parent has to go, too.",
    ),
]
_MOST_CALLS = 500
_LONGEST = 200
_EVICTED = "this prefix has been evicted"


def cases(rng: random.Random) -> list[Case]:
    """The right cache twice, each wrong one once. Nothing of it enters a box."""
    return [Case(name, {}, outside=letter) for name, letter in [("right", ""), ("right", ""), *_letters()]]


def _letters() -> list[tuple[str, str]]:
    return [(one.letter, one.letter) for one in PLANTED]


# --- The caches, outside of the box ---------------------------------------------------------------


class Node:
    """An edge of the tree and what is below it."""

    def __init__(self, parent: Node | None, ids: list[int], places: list[int], time: int) -> None:
        self.children: dict[tuple[int, ...], Node] = {}
        self.parent, self.ids, self.places, self.time = parent, ids, places, time
        self.locks = 0
        self.has_forked = False

    def path(self) -> list[Node]:
        """From this node up to below the root."""
        found, node = list[Node](), self
        while node.parent is not None:
            found.append(node)
            node = node.parent
        return found


class Tree:
    """A radix cache in lists; ``bug`` is the letter of a planted one. A handle is a node and a length."""

    def __init__(self, page_size: int, bug: str = "") -> None:
        self.size, self.bug = page_size, bug
        self.root = Node(None, [], [], 0)
        self.time = self.evictable = self.protected = 0

    def insert(self, ids: list[int], places: list[int]) -> tuple[int, tuple[Node, int]]:
        end = len(ids) // self.size * self.size
        node, held = self._walk(ids[:end])
        if self.bug == "e":
            at = held
            for above in node.path():
                at -= len(above.ids)
                above.places = places[at : at + len(above.ids)]
        if held < end:
            leaf = Node(node, ids[held:end], places[held:end], self.time)
            self._hang(node, leaf)
            self.evictable += len(leaf.ids)
            node = leaf
        return held, (node, end)

    def match(self, ids: list[int]) -> tuple[int, tuple[Node, int]]:
        node, held = self._walk(ids)
        if self.bug == "d":
            for child in node.children.values():
                more = _common(child.ids, ids[held:])
                if more:
                    return held + more, (child, held + more)
        return held, (node, held)

    def lock(self, handle: tuple[Node, int]) -> None:
        for node in self._alive(handle):
            if node.locks == 0:
                self.evictable -= len(node.ids)
                self.protected += len(node.ids)
            node.locks += 1

    def unlock(self, handle: tuple[Node, int]) -> None:
        path = self._alive(handle)
        if self.bug != "a" and any(node.locks == 0 for node in path):
            raise RuntimeError("unlocked more often than locked")
        for node in path[:1] if self.bug == "b" else path:
            if node.locks == 0:
                continue
            node.locks -= 1
            if node.locks == 0:
                self.evictable += len(node.ids)
                self.protected -= len(node.ids)

    def evict(self, count: int) -> list[int]:
        if count > self.evictable:
            raise RuntimeError("fewer tokens are evictable")
        freed: list[int] = []
        while len(freed) < count and (leaves := self._candidates(self.root)):
            node = (max if self.bug == "c" else min)(leaves, key=lambda leaf: leaf.time)
            assert node.parent is not None
            del node.parent.children[self._key(node.ids)]
            self.evictable -= len(node.ids)
            freed += node.places
        return freed

    def sizes(self) -> tuple[int, int]:
        return self.evictable, self.protected

    def indices(self, handle: tuple[Node, int]) -> list[int]:
        places = [place for node in reversed(self._alive(handle)) for place in node.places]
        return places[: handle[1]]

    def _candidates(self, node: Node) -> list[Node]:
        if not node.children:
            stays = node is self.root or node.locks > 0 or (self.bug == "f" and node.has_forked)
            return [] if stays else [node]
        return [leaf for child in node.children.values() for leaf in self._candidates(child)]

    def _alive(self, handle: tuple[Node, int]) -> list[Node]:
        path = handle[0].path()
        for node in path:
            assert node.parent is not None
            if node.parent.children.get(self._key(node.ids)) is not node:
                raise RuntimeError(_EVICTED)
        return path

    def _walk(self, ids: list[int]) -> tuple[Node, int]:
        self.time += 1
        node, held = self.root, 0
        while len(ids) - held >= self.size:
            child = node.children.get(self._key(ids[held:]))
            if child is None:
                break
            shared = _common(child.ids, ids[held:]) // self.size * self.size
            if shared < len(child.ids):
                child = self._fork(child, shared)
            child.time = self.time
            node, held = child, held + shared
        return node, held

    def _fork(self, lower: Node, cut: int) -> Node:
        assert lower.parent is not None
        upper = Node(lower.parent, lower.ids[:cut], lower.places[:cut], lower.time)
        upper.locks = lower.locks
        if self.bug == "a" and lower.locks:
            upper.locks = 0
            self.evictable += cut
            self.protected -= cut
        self._hang(lower.parent, upper)
        lower.ids, lower.places, lower.parent = lower.ids[cut:], lower.places[cut:], upper
        self._hang(upper, lower)
        return upper

    def _hang(self, parent: Node, child: Node) -> None:
        parent.children[self._key(child.ids)] = child
        parent.has_forked = True

    def _key(self, ids: list[int]) -> tuple[int, ...]:
        return tuple(ids[: self.size])


def _common(one: list[int], other: list[int]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


class Bench:
    """Serves one implementation, under numbers for its caches and handles.

    Beside a wrong one the right one gets the same calls, to see whether they have shown anything wrong:
    tests that reject without it have guessed.
    """

    def __init__(self, case: Case) -> None:
        self._bug: str = case.outside
        self._caches: list[tuple[Tree, Tree]] = []
        self._handles: list[tuple[int, Any, Any]] = []
        self._calls = 0
        self._differs = False

    def make(self, page_size: Any) -> int:
        self._count()
        if not is_int(page_size) or not 1 <= page_size <= 64:
            raise ValueError("page_size is an int from 1 to 64")
        self._caches.append((Tree(page_size, self._bug), Tree(page_size)))
        return len(self._caches) - 1

    def insert(self, cache: Any, ids: Any, places: Any) -> list[int]:
        if len(_numbers(ids)) != len(_numbers(places)):
            raise ValueError("there is one location for each id")
        return self._found(cache, "insert", list(ids), list(places))

    def match(self, cache: Any, ids: Any) -> list[int]:
        return self._found(cache, "match", _numbers(ids))

    def lock(self, cache: Any, handle: Any) -> None:
        self._both(cache, "lock", handle=handle)

    def unlock(self, cache: Any, handle: Any) -> None:
        self._both(cache, "unlock", handle=handle)

    def evict(self, cache: Any, count: Any) -> list[int]:
        if not is_int(count) or count < 0:
            raise ValueError("evict takes a number of tokens, an int of at least 0")
        return list(self._both(cache, "evict", count)[0])

    def sizes(self, cache: Any) -> list[int]:
        return list(self._both(cache, "sizes")[0])

    def indices(self, cache: Any, handle: Any) -> list[int]:
        return list(self._both(cache, "indices", handle=handle)[0])

    def report(self) -> list[bool]:
        """Whether any answer was not that of the right implementation."""
        return [self._differs]

    def _found(self, cache: Any, name: str, *args: Any) -> list[int]:
        mine, right = self._both(cache, name, *args)
        self._differs |= right is not None and mine[0] != right[0]
        self._handles.append((cache, mine[1], right[1] if right else None))
        return [mine[0], len(self._handles) - 1]

    def _both(self, cache: Any, name: str, *args: Any, handle: Any = None) -> tuple[Any, Any]:
        """What the implementation answers, and the right one while the two have not differed."""
        self._count()
        if not is_int(cache) or not 0 <= cache < len(self._caches):
            raise ValueError("there is no such cache")
        ours, theirs = args, args
        if name in ("lock", "unlock", "indices"):
            if (
                not is_int(handle)
                or not 0 <= handle < len(self._handles)
                or self._handles[handle][0] != cache
            ):
                raise ValueError("a handle is what insert or match of the same cache has returned")
            ours, theirs = (self._handles[handle][1],), (self._handles[handle][2],)
        tree, twin = self._caches[cache]
        right: Any = None
        if not self._differs:
            right = _outcome(twin, name, theirs)
        mine = _outcome(tree, name, ours)
        if not self._differs:
            plain = name not in ("insert", "match")
            self._differs = type(mine) is not type(right) or (plain and str(mine) != str(right))
        if isinstance(mine, RuntimeError):
            raise mine
        return mine, None if self._differs else right

    def _count(self) -> None:
        self._calls += 1
        if self._calls > _MOST_CALLS:
            zh, en = (
                f"对一个实现的调用超过了 {_MOST_CALLS} 次。",
                f"One cache got more than {_MOST_CALLS} calls.",
            )
            refuse(4, zh, en)


def _outcome(tree: Tree, name: str, args: tuple[Any, ...]) -> Any:
    try:
        return getattr(tree, name)(*args)
    except RuntimeError as error:
        return error


def _numbers(values: Any) -> list[int]:
    if not isinstance(values, list) or len(values) > _LONGEST or not all(map(is_int, values)):
        raise ValueError(f"ids and locations are lists of ints, at most {_LONGEST}")
    return values


trusted = Bench

# --- In the box -----------------------------------------------------------------------------------


def drive(target: Any, case: dict[str, Any], io: Any) -> None:
    """The tests meet one implementation: which error they raise, if any."""

    class Cache:
        def __init__(self, number):
            self._number = number

        def insert(self, ids, locs):
            return tuple(io.call("insert", self._number, ids, locs))

        def match(self, ids):
            return tuple(io.call("match", self._number, ids))

        def lock(self, handle):
            io.call("lock", self._number, handle)

        def unlock(self, handle):
            io.call("unlock", self._number, handle)

        def evict(self, n):
            return io.call("evict", self._number, n)

        def sizes(self):
            return tuple(io.call("sizes", self._number))

        def indices(self, handle):
            return io.call("indices", self._number, handle)

    def make(page_size):
        return Cache(io.call("make", page_size))

    io.emit([io.attempt(target, make).get("error")])


# --- Outside again: the checker -----------------------------------------------------------------


def check(case: Case, expected: list[Any], got: list[Any]) -> Broken | None:
    """The right implementation raises nothing; a wrong one does, for something that it has shown."""
    if len(got) != 2 or not _is_ending(got[0]) or got[1] not in ([True], [False]):
        return Broken(1, NO_RESULT)
    error, shown = got[0][0], got[1] == [True]
    if not case.outside:
        if error is None:
            return None
        zh = f"对的实现也被判成坏的：`check` 抛出了 {error_name(error)}。"
        return Broken(
            1, {"zh": zh, "en": f"The right cache is rejected: `check` raises {error_name(error)}."}
        )
    if error is None:
        why = next(one for one in PLANTED if one.letter == case.outside)
        zh, en = f"有坏缓存没有被查出来。{why.zh}", f"A broken cache is not found. {why.en}"
        return Broken(2, {"zh": zh, "en": en})
    if not shown:
        zh = "坏缓存还没有答错过什么，`check` 就抛出了异常：这是猜的。"
        en = "`check` raises although the broken cache has answered nothing wrong yet: that is a guess."
        return Broken(3, {"zh": zh, "en": en})
    return None


def _is_ending(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1 and (value[0] is None or isinstance(value[0], str))


# --- Mutants ------------------------------------------------------------------------------------

_RIGHT = reference(__file__)
_TESTS = {
    "a": "a_fork_inherits_the_lock",
    "b": "ancestors_are_unlocked",
    "c": "the_oldest_goes_first",
    "d": "only_whole_pages_are_hit",
    "e": "locations_stay",
    "f": "everything_can_go",
}

MUTANTS = [
    *(
        Mutant(one.letter, instead(_RIGHT, f"        {_TESTS[one.letter]},\n", ""), zh=one.zh, en=one.en)
        for one in PLANTED
    ),
    Mutant(
        "g",
        "def check(make):\n    cache = make(1)\n    cache.insert([1, 2], [7, 8])\n    cache.match([1])\n",
        zh="这组测试什么也不查：调用之后要用 assert 比较答复。",
        en="These tests look at nothing: after a call compare the answer, with an assert.",
    ),
    Mutant(
        "h",
        'def check(make):\n    raise AssertionError("broken")\n',
        zh="对的缓存也过不了，而坏的还没有答错过什么：这条测试要的，不是约定说的。",
        en="The right cache fails, too, before a broken one has answered anything wrong: this test asks for"
        " what the contract does not say.",
    ),
    Mutant(
        "i",
        _RIGHT + '    raise AssertionError("broken")\n',
        zh="坏的都抓住了，可是对的也过不了其中一条：照约定把那个答案重新算一遍。",
        en="All broken ones are caught, but the right one fails a test, too: work that answer out again.",
    ),
]
