def test_example(target):
    """题目里的例子：两个请求共享两块
    The example: two requests share two blocks"""
    expected = {"logical_blocks": 6, "physical_blocks": 4, "tail_waste": 5, "saved_bytes": 917504}
    assert target([[7, 1, 3], [7, 1, 5]], [10, 9], 4, 114688) == expected, (
        "块 7 和块 1 只存一份；块 3 空 2 格，块 5 空 3 格。\n"
        "Blocks 7 and 1 are stored once; block 3 has 2 empty slots, block 5 has 3."
    )


def test_a_shared_block_that_is_not_full(target):
    """最后一块也共享，一个用到 2 格，另一个用到 1 格
    The last block is shared, too: one uses 2 slots of it, the other 1"""
    result = target([[7, 3], [7, 3]], [6, 5], 4, 10)
    assert result["tail_waste"] == 2, "看装得最满的请求。\nLook at the request that fills it most."
    again = target([[7, 3], [7, 3]], [5, 6], 4, 10)
    assert again == result, "与请求的次序无关。\nThe order of the requests does not matter."
    assert result["saved_bytes"] == 80, "省下两块，每块 4 格。\nTwo blocks of 4 slots are saved."


def test_exact_multiple(target):
    """长度正好是块大小的倍数；还有一个长度为 0
    Lengths that are multiples of the block size, and one of 0"""
    expected = {"logical_blocks": 3, "physical_blocks": 3, "tail_waste": 0, "saved_bytes": 0}
    assert target([[4], [], [2, 9]], [4, 0, 8], 4, 512) == expected, "每一块都是满的。\nEvery block is full."


def test_a_table_of_the_wrong_length(target):
    """表与长度对不上
    A table that does not fit its length"""
    for tables, lengths in (([[1, 2]], [4]), ([[1]], [5]), ([[]], [1])):
        try:
            target(tables, lengths, 4, 512)
        except ValueError:
            continue
        raise AssertionError(
            "块数应当是长度除以块大小，向上取整。\n"
            "The number of blocks is the length over the block size, rounded up."
        )
