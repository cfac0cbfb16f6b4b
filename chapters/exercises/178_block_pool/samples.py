def state(pool):
    """The queue, and the counts."""
    return list(pool.queue), list(pool.ref)


def test_example(target):
    """题目里的例子：三个块
    The example: three blocks"""
    pool = target(3)
    assert state(pool) == ([0, 1, 2], [0, 0, 0]), "一开始全都空闲。\nAt first all are free."
    assert pool.allocate() == 0, "队首先被分配。\nThe front of the queue is allocated first."
    pool.publish(0, "p")
    pool.free(0)
    assert state(pool) == ([1, 2, 0], [0, 0, 0]), "有键的排到队尾。\nWith a key it goes to the end."
    assert pool.lookup("p") == 0, "没有再分配，就还能命中。\nIt can be hit until it is allocated again."
    pool.touch(0)
    assert state(pool) == ([1, 2], [1, 0, 0]), (
        "命中的块要从队列里拿走。\nThe block that was hit leaves the queue."
    )


def test_without_a_key_in_front(target):
    """没有键的块先被再用
    Blocks without a key are used again first"""
    pool = target(4)
    blocks = [pool.allocate(), pool.allocate()]
    for block in blocks:
        pool.free(block)
    assert state(pool) == ([1, 0, 2, 3], [0, 0, 0, 0]), (
        "没有键的插到队首，后还的在更前面。\nWithout a key they go to the front, the last one first."
    )


def test_two_users(target):
    """两个请求用同一块
    Two requests use a block"""
    pool = target(2)
    block = pool.allocate()
    pool.touch(block)
    pool.free(block)
    assert state(pool) == ([1], [1, 0]), "还有一个在用，不进队列。\nOne still uses it: not in the queue."


def test_content_is_lost_when_allocated(target):
    """再分配时，旧的键才消失
    The old key goes when the block is allocated again"""
    pool = target(1)
    pool.publish(pool.allocate(), "p")
    pool.free(0)
    assert pool.allocate() == 0, "只有这一块。\nThere is just this block."
    assert pool.lookup("p") is None, (
        "新的主人就要往里写，不能再命中。\nIts new owner is about to write: no hit any more."
    )


def test_errors(target):
    """不该发生的事
    What should not happen"""
    pool = target(1)
    for call, error in (
        (lambda: pool.free(0), ValueError),
        (lambda: pool.publish(0, "p"), ValueError),
        (lambda: [pool.allocate(), pool.allocate()], RuntimeError),
    ):
        try:
            call()
        except error:
            continue
        raise AssertionError(
            "没人用的块不能归还、不能公布；没有空闲的块不能分配。\n"
            "A block that nobody uses is not freed or published; without a free block none is allocated."
        )
