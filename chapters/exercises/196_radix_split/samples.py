def parts(result):
    """The three runs of tokens, in the order prefix, old suffix, new suffix."""
    return result["prefix"], result["old_suffix"], result["new_suffix"]


def test_example(target):
    """题目里的例子：页大小 1
    The example: page size 1"""
    result = target([1, 2, 3, 4], [1, 2, 9])
    assert result["matched_tokens"] == 2, "前两个 token 相同。\nThe first two tokens are equal."
    assert parts(result) == ([1, 2], [3, 4], [9]), (
        "三段都从同一个切口算。\nAll three parts follow from one cut."
    )


def test_only_whole_pages(target):
    """页大小 4：不满一页就不能共享
    Page size 4: less than a page is not shared"""
    result = target([1, 2, 3, 4], [1, 2, 9], 4)
    assert result["matched_tokens"] == 0, (
        "只有两个 token 相同，不满一页。\nOnly two tokens are equal, less than a page."
    )
    assert parts(result) == ([], [1, 2, 3, 4], [1, 2, 9]), (
        "相同但不满一页的 token 归两边的后缀。\n"
        "Tokens that are equal but fill no page belong to the suffixes."
    )


def test_whole_edge(target):
    """整条边都相同
    The whole edge is equal"""
    result = target([5, 6], [5, 6, 7, 8], 2)
    assert parts(result) == ([5, 6], [], [7, 8]), (
        "边没有剩下的，后缀是空列表。\nNothing is left of the edge: its suffix is an empty list."
    )


def test_locks_are_inherited(target):
    """正在使用的边
    An edge in use"""
    result = target([1, 2, 3, 4], [1, 2, 9], 1, 2)
    assert result["prefix_lock_ref"] == 2, (
        "锁着整条边的请求也在用上段。\nWhoever holds the edge locked uses its upper part, too."
    )


def test_values_that_make_no_sense(target):
    """无效的数值
    Values that make no sense"""
    for args in [([1], [1], 0), ([1], [1], 1, -1), ([1, -2], [1]), ([1], [True])]:
        try:
            target(*args)
        except ValueError:
            continue
        raise AssertionError(
            "页大小至少为 1，锁计数和 token 不能为负，bool 不算 int。\n"
            "A page has at least 1 token; locks and tokens are not negative; a bool is not an int."
        )
