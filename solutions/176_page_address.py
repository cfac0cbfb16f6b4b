"""Reference for 176 `page_address`."""


def page_address(block_table: list[int], position: int, block_size: int) -> dict[str, int]:
    """Find the physical place of a logical token position. O(1).

    Args:
        block_table: physical block numbers in the order of the logical blocks; not changed.
        position: logical position of the token, counted from 0.
        block_size: tokens in a block.

    Returns:
        ``{"logical_block", "physical_block", "offset"}``.

    Raises:
        ValueError: ``position``, ``block_size`` or the physical block found makes no sense.
        IndexError: the logical block is past the end of the table.
    """
    # hint: 先检查两个数；bool 不算 int | First check the two numbers; a bool is not an int
    if type(position) is not int or position < 0:
        raise ValueError(f"position must be an int of at least 0, not {position!r}")
    if type(block_size) is not int or block_size < 1:
        raise ValueError(f"block_size must be an int of at least 1, not {block_size!r}")
    # hint: 位置分成逻辑块和偏移 | Split the position into logical block and offset
    logical, offset = divmod(position, block_size)
    if logical >= len(block_table):
        raise IndexError(f"logical block {logical} in a table of {len(block_table)}")
    # hint: 查表，再检查取到的块号 | Look it up, then check the block number
    physical = block_table[logical]
    if type(physical) is not int or physical < 0:
        raise ValueError(f"physical block must be an int of at least 0, not {physical!r}")
    return {"logical_block": logical, "physical_block": physical, "offset": offset}
