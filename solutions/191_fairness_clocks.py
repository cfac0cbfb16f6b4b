"""Reference for 191 `fairness_clocks`."""

from typing import Any


def fairness_clocks(events: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    """Work, progress and output of each request, and how long it waited. Linear in the tokens executed.

    Args:
        events: what happened, in order: dicts with ``round``, ``id`` and ``kind``: ``arrive``, ``run`` (with
            ``start`` and ``tokens``), ``preempt``, ``emit``.

    Returns:
        By id a dict with ``executed, valid, recomputed, emitted, first_wait, paused``.
    """
    # hint: 记下：何时来，跑过哪些位置，从何时起暂停 | Keep when it came, what ran, since when it pauses
    clocks: dict[Any, dict[str, Any]] = {}
    arrived: dict[Any, int] = {}
    positions: dict[Any, set[int]] = {}
    paused_since: dict[Any, int] = {}
    for event in events:
        name, now = event["id"], event["round"]
        if event["kind"] == "arrive":
            arrived[name], positions[name] = now, set()
            clocks[name] = {"executed": 0, "valid": 0, "recomputed": 0, "emitted": 0}
            clocks[name] |= {"first_wait": None, "paused": 0}
        elif event["kind"] == "run":
            mine = clocks[name]
            mine["executed"] += event["tokens"]
            positions[name].update(range(event["start"], event["start"] + event["tokens"]))
            mine["valid"] = len(positions[name])
            mine["recomputed"] = mine["executed"] - mine["valid"]
            if mine["first_wait"] is None:
                mine["first_wait"] = now - arrived[name]
            mine["paused"] += now - paused_since.pop(name, now)
        elif event["kind"] == "preempt":
            paused_since[name] = now
        else:
            clocks[name]["emitted"] += 1
    return clocks
