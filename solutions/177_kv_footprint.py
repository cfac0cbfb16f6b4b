"""Reference for 177 `kv_footprint`."""


def kv_footprint(
    tables: list[list[int]], lengths: list[int], block_size: int, bytes_per_token: int
) -> dict[str, int]:
    """Account for the KV of requests that share blocks. O(entries of the tables).

    Args:
        tables: physical block numbers of each request, in the order of its logical blocks; not changed.
        lengths: tokens of each request; not changed.
        block_size: tokens in a block.
        bytes_per_token: bytes that the KV of a token takes.

    Returns:
        ``logical_blocks``, ``physical_blocks``, ``tail_waste`` (slots), ``saved_bytes``.

    Raises:
        ValueError: a table does not have as many blocks as its length needs.
    """
    # hint: 每个物理块装得最满时有几个 token | The most tokens that are in each physical block
    fullest: dict[int, int] = {}
    for table, length in zip(tables, lengths, strict=True):
        if len(table) != -(-length // block_size):
            raise ValueError(f"{len(table)} blocks of {block_size} for {length} tokens")
        for i, block in enumerate(table):
            tokens = min(block_size, length - i * block_size)
            fullest[block] = max(tokens, fullest.get(block, 0))
    # hint: 四个数都从它和各张表得出 | All four numbers follow from it and from the tables
    logical = sum(len(table) for table in tables)
    return {
        "logical_blocks": logical,
        "physical_blocks": len(fullest),
        "tail_waste": sum(block_size - tokens for tokens in fullest.values()),
        "saved_bytes": (logical - len(fullest)) * block_size * bytes_per_token,
    }
