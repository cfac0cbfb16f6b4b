"""Reference for 190 `five_rounds`."""

from collections.abc import Callable
from typing import Any


def five_rounds(
    step: Callable[..., dict[str, Any]],
    arrivals: list[dict[str, Any]],
    num_blocks: int,
    token_budget: int,
    block_size: int,
    rounds: int = 5,
) -> list[dict[str, Any]]:
    """Go through the rounds of a small engine whose steps are planned by ``step``.

    Args:
        step: ``continuous_step`` of exercise 188, called as ``step(requests, free_blocks, token_budget,
            block_size)``.
        arrivals: dicts with ``id``, ``round``, ``prompt`` and ``output``, both in tokens; not changed.
        num_blocks: blocks of the pool, all free at first.
        token_budget: tokens that each round may compute.
        block_size: tokens in a block.
        rounds: how many rounds.

    Returns:
        For each round a dict with ``round``, ``free``, and by id ``scheduled``, ``computed``, ``blocks``.
    """
    live: list[dict[str, Any]] = []
    free, records = num_blocks, []
    due = {arrival["id"]: arrival["output"] for arrival in arrivals}
    for number in range(rounds):
        # hint: 新来的排到队尾 | Newcomers go to the end of the queue
        new = [arrival for arrival in arrivals if arrival["round"] == number]
        live += [{"id": one["id"], "computed": 0, "target": one["prompt"], "blocks": 0} for one in new]

        # hint: 走一步，记一行 | Take the step, write the row
        result = step(live, free, token_budget, block_size)
        live, free = result["requests"], result["free_blocks"]
        columns = ("scheduled", "computed", "blocks")
        table = {key: {request["id"]: request[key] for request in live} for key in columns}
        records.append({"round": number, "free": free, **table})

        # hint: 追上目标的采样一个 | Whoever has reached the target samples one
        for request in live:
            if request["computed"] == request["target"]:
                due[request["id"]] -= 1
                request["target"] += due[request["id"]] > 0
                request["finished"] = due[request["id"]] == 0
    return records
