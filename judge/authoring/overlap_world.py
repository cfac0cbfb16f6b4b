"""Scripts for ``overlap_world``, which exercises 204 to 207 are tried in, and the comparison of its logs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from judge.harness.compare import same
from judge.types import Broken

EOS = 3


# --- Scripts ----------------------------------------------------------------------------------


def request(
    rng: random.Random,
    output: int,
    *,
    prompt: int = 0,
    eos: int = -1,
    ignore_eos: bool = False,
    fails: int = -1,
    arrives: int = 0,
    aborted: Sequence[int] = (),
) -> dict[str, Any]:
    """A request of at most ``output`` tokens.

    Token number ``eos`` ends its text, from number ``fails`` on the model has none for it. It arrives in loop
    ``arrives``, with -1 it is there already; it is aborted in each loop of ``aborted``.
    """
    tokens = [rng.randrange(10, 500) for _ in range(output + 3)]
    if eos >= 0:
        tokens[eos] = EOS
    if fails >= 0:
        tokens[fails:] = [-1] * len(tokens[fails:])
    return {
        "prompt": prompt or rng.randrange(1, 6),
        "output": output,
        "tokens": tokens,
        "ignore_eos": ignore_eos,
        "arrives": arrives,
        "aborted": list(aborted),
    }


def script(rng: random.Random, requests: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """What a box gets.

    ``loops`` 0: until nothing is left to do. ``before``: steps of the normal loop that come first. ``late``:
    tokens have to be waited for.
    """
    data: dict[str, Any] = {"rows": len(requests), "budget": 64, "mixed": False, "logprobs": False}
    data |= {"loops": 0, "before": 0, "eos": EOS, "late": rng.random() < 0.7, "requests": requests}
    return data | more


# --- Outside again: the first difference ------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Where two logs part: entries that begin with a word, [] where a log has ended.

    ``before``: the entries of this loop before it, equal in both.
    """

    due: list[Any]
    seen: list[Any]
    before: list[list[Any]]

    @property
    def words(self) -> tuple[str, str]:
        """The words of both; "" where a log has ended."""
        return (self.due or [""])[0], (self.seen or [""])[0]

    def inside(self, first: str, last: str) -> bool:
        """Whether an entry ``first`` stands before it, and no ``last`` after that one."""
        words = [entry[0] for entry in self.before]
        return first in words and last not in words[len(words) - words[::-1].index(first) :]

    def latest(self, word: str) -> list[Any]:
        """The last entry before it that begins with ``word``; [] when there is none."""
        return next((entry for entry in reversed(self.before) if entry[0] == word), [])


def difference(expected: list[Any], got: list[Any]) -> Difference | None:
    """None when the logs are the same. ``got`` is any list that came out of a box."""
    before: list[list[Any]] = []
    over: list[Any] = []
    for due, seen in zip_longest(_entries(expected), _entries(got), fillvalue=over):
        if not same(due, seen):
            return Difference(due, seen, before)
        if due and due[0] == "loop":
            before = []
        before.append(due)
    return None


def broken_at_first(
    expected: list[Any], got: list[Any], why: Callable[[Difference], tuple[str, str, int]]
) -> Broken | None:
    """What is wrong at the first entry that differs: ``why`` says it in Chinese and English, and the rule."""
    found = difference(expected, got)
    if found is None:
        return None
    zh, en, rule = why(found)
    return Broken(rule, {"zh": zh, "en": en})


def _entries(emitted: list[Any]) -> Iterator[list[Any]]:
    """All entries, each loop begun by a "loop" and ended by a "back"; what is none is a "?", and the last."""
    for loop in emitted:
        if not (isinstance(loop, list) and len(loop) == 2 and isinstance(loop[0], list)):
            yield ["?"]
            return
        yield ["loop"]
        for entry in loop[0]:
            if not (isinstance(entry, list) and entry and isinstance(entry[0], str)):
                yield ["?"]
                return
            yield entry
        yield ["back", loop[1]]
