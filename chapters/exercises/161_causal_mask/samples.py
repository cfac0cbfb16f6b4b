def rows(mask):
    """The mask as lists of 0 and 1."""
    return [[int(seen) for seen in row] for row in mask.tolist()]


def test_example(target):
    """题目里的例子：缓存 2 个，再算 2 个
    The example: 2 cached, 2 computed"""
    assert rows(target(2, 4)) == [[1, 1, 1, 0], [1, 1, 1, 1]], (
        "两个查询在位置 2 和 3，各看得见自己和之前的。\n"
        "The two queries are at positions 2 and 3; each sees itself and what is before it."
    )


def test_decode(target):
    """解码的一步：一个查询
    A step of decoding: one query"""
    assert rows(target(1, 5)) == [[1, 1, 1, 1, 1]], (
        "唯一的查询是最后一个位置，全都看得见。\nThe only query is the last position: it sees everything."
    )


def test_no_cache(target):
    """没有缓存：下三角
    Without a cache: the lower triangle"""
    mask = target(3, 3)
    assert rows(mask) == [[1, 0, 0], [1, 1, 0], [1, 1, 1]], (
        "第一个只看得见自己。\nThe first one sees just itself."
    )
    assert str(mask.dtype) == "torch.bool", "掩码是 bool 张量。\nThe mask is a bool tensor."


def test_counts_that_make_no_sense(target):
    """无效的个数
    Counts that make no sense"""
    for n_query, n_key in ((0, 3), (3, 2)):
        try:
            target(n_query, n_key)
        except ValueError:
            continue
        raise AssertionError(
            "没有查询，或者键比查询少：ValueError。\nNo query, or fewer keys than queries: ValueError."
        )
