"""Reference for 196 `radix_split`."""

from typing import Any


def radix_split(
    edge_tokens: list[int], query_tokens: list[int], page_size: int = 1, lock_ref: int = 0
) -> dict[str, Any]:
    """Say where a compressed edge forks. O(len(edge_tokens) + len(query_tokens)).

    Args:
        edge_tokens: tokens that the edge stores; not changed.
        query_tokens: the new request's tokens from the start of the edge on; not changed.
        page_size: tokens in a page; the cut falls on a page boundary.
        lock_ref: how many times the edge's node is locked.

    Returns:
        ``matched_tokens`` (a multiple of ``page_size``), ``prefix``, ``old_suffix``, ``new_suffix`` (lists of
        tokens) and ``prefix_lock_ref``.

    Raises:
        ValueError: ``page_size``, ``lock_ref`` or a token makes no sense.
    """
    # hint: 先检查数值；bool 不算 int | First check the values; a bool is not an int
    if type(page_size) is not int or page_size < 1:
        raise ValueError(f"page_size must be an int of at least 1, not {page_size!r}")
    if any(type(number) is not int or number < 0 for number in (lock_ref, *edge_tokens, *query_tokens)):
        raise ValueError("tokens and lock_ref must be ints of at least 0")
    # hint: 数公共前缀，向下取整到整页 | Count the common prefix, round down to whole pages
    common = 0
    while common < min(len(edge_tokens), len(query_tokens)) and edge_tokens[common] == query_tokens[common]:
        common += 1
    shared = common // page_size * page_size
    # hint: 从同一个切口得到三段；锁计数一起带上 | Three parts from one cut; take the lock count along
    return {
        "matched_tokens": shared,
        "prefix": edge_tokens[:shared],
        "old_suffix": edge_tokens[shared:],
        "new_suffix": query_tokens[shared:],
        "prefix_lock_ref": lock_ref,
    }
