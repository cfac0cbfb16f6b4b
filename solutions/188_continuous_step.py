"""Reference for 188 `continuous_step`."""

from typing import Any


def continuous_step(
    requests: list[dict[str, Any]], free_blocks: int, token_budget: int, block_size: int
) -> dict[str, Any]:
    """Plan one iteration of continuous batching. O(len(requests)).

    Args:
        requests: dicts with ``id, computed, target, blocks`` and optionally ``finished``; not changed.
        free_blocks: blocks that nobody holds.
        token_budget: tokens that this step may compute.
        block_size: tokens in a block.

    Returns:
        ``requests`` (copies of the live ones, with ``scheduled``), ``free_blocks`` and ``token_budget`` left.

    Raises:
        ValueError: a number makes no sense, or an id occurs twice.
    """
    # hint: 先检查全部输入 | First check all of the input
    counters = [request[key] for request in requests for key in ("computed", "target", "blocks")]
    if any(type(n) is not int or n < 0 for n in (free_blocks, token_budget, block_size, *counters)):
        raise ValueError("budgets and counters must be ints of at least 0")
    if block_size < 1 or len({request["id"] for request in requests}) < len(requests):
        raise ValueError("block_size must be at least 1 and ids unique")
    if any(r["computed"] > min(r["target"], r["blocks"] * block_size) for r in requests):
        raise ValueError("computed must not exceed target or the space in the blocks")

    # hint: 再释放所有已结束的请求 | Then release all finished requests
    free_blocks += sum(request["blocks"] for request in requests if request.get("finished"))
    live = [dict(request, scheduled=0) for request in requests if not request.get("finished")]

    # hint: 最后按次序推进；放不下的跳过，不扣预算 | Last, advance in order; a skipped one is charged nothing
    for request in live:
        take = min(request["target"] - request["computed"], token_budget)
        needed = max(0, -(-(request["computed"] + take) // block_size) - request["blocks"])
        if needed <= free_blocks:
            request["computed"] += take
            request["blocks"] += needed
            request["scheduled"] = take
            free_blocks -= needed
            token_budget -= take
    return {"requests": live, "free_blocks": free_blocks, "token_budget": token_budget}
