"""Reference for 160 `greedy_generate`."""

from collections.abc import Callable


def greedy_generate(
    forward: Callable[[list[int], int], list[float]], prompt: list[int], max_new: int, eos: int | None = None
) -> list[int]:
    """Continue a prompt with the most likely tokens, one forward for each.

    Args:
        forward: runs ids at positions start, start + 1, ... of a cached model; logits of the last.
        prompt: token ids; not changed.
        max_new: how many tokens at most.
        eos: the id that ends the text; None: there is none.

    Returns:
        The new tokens, without the eos.

    Raises:
        ValueError: the prompt is empty.
    """
    if not prompt:
        raise ValueError("the prompt is empty: there is nothing to continue")
    # hint: 下一次喂什么、从哪个位置喂起 | What is fed next, and from which position on
    new: list[int] = []
    ids, start = prompt, 0
    # hint: 还没写满就再做一次前向 | One more forward while tokens are still due
    while len(new) < max_new:
        logits = forward(ids, start)
        token = logits.index(max(logits))
        # hint: 选出 eos 就结束，不放进结果 | The eos ends it, and is no part of the result
        if token == eos:
            break
        new.append(token)
        ids, start = [token], start + len(ids)
    return new
