"""A pool of four blocks from its first allocation to its last: an event for each operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judge.own_run import class_name, line_of

N = 4
SCRIPT: tuple[tuple[str, tuple[str, ...], str], ...] = (
    # operation, its arguments, and what its result is called from then on; "p" is a key
    ("allocate", (), "first"),
    ("allocate", (), "second"),
    ("publish", ("first", "p"), ""),
    ("touch", ("first",), ""),  # a second request begins alike
    ("free", ("first",), ""),
    ("free", ("second",), ""),
    ("free", ("first",), ""),
    ("lookup", ("p",), "hit"),
    ("touch", ("hit",), ""),
    ("free", ("hit",), ""),
    ("allocate", (), "a"),
    ("allocate", (), "b"),
    ("allocate", (), "c"),
    ("allocate", (), "last"),  # and with it the key is gone
    ("lookup", ("p",), ""),
    ("allocate", (), "none"),  # the pool is exhausted
    ("free", ("last",), ""),
)
DUE_TO_RAISE = 15


def own_run(target: Any) -> Iterator[dict[str, Any]]:
    """Ends early where a result that is needed is no block, or where an operation raises that must not."""
    pool = target(N)
    yield {"type": "block_pool", "op": "new", "args": [N], **_lists(pool), **line_of(target.__init__)}
    named: dict[str, int] = {}
    for step, (op, arguments, name) in enumerate(SCRIPT):
        args = [named.get(each, each) for each in arguments]
        event = {"type": "block_pool", "op": op, "args": args, **line_of(getattr(target, op, None))}
        try:
            result = getattr(pool, op)(*args)
        except Exception as error:
            yield {**event, "raised": class_name(error), **_lists(pool)}
            if step != DUE_TO_RAISE:
                raise
            continue
        yield {**event, "result": result, **_lists(pool)}
        if name:
            if type(result) is not int or not 0 <= result < N:
                return
            named[name] = result


def _lists(pool: Any) -> dict[str, Any]:
    return {"queue": getattr(pool, "queue", None), "ref": getattr(pool, "ref", None)}
