def test_example(target):
    """题目里的例子
    The example"""
    matched, waited = {10: 0, 11: 40, 12: 8}, {10: 6, 11: 0, 12: 1}
    assert list(target([10, 11, 12], matched, waited, 5)) == [10, 11, 12], (
        "10 等够了 5 步，排第一。\n10 has waited 5 steps or longer and is first."
    )
    assert list(target([10, 11, 12], matched, waited, 7)) == [11, 12, 10], (
        "没有人等够 7 步，按命中从多到少。\nNobody has waited 7 steps: most hit first."
    )


def test_the_bound_just_met(target):
    """正好等满
    The bound is just met"""
    order = list(target([1, 2], {1: 0, 2: 9}, {1: 5, 2: 4}, 5))
    assert order == [1, 2], "等了 5 步，正好等够。\n5 steps of waiting just meet the bound."


def test_equal_hits(target):
    """命中一样多
    Equal hits"""
    order = list(target([9, 3, 7], {9: 4, 3: 4, 7: 8}, {9: 2, 3: 1, 7: 0}, 10))
    assert order == [7, 9, 3], (
        "9 比 3 先到；uid 不说明先后。\n9 came before 3; a uid says nothing about arrival."
    )


def test_all_late(target):
    """都等够了
    All have waited long enough"""
    order = list(target([4, 6, 5], {4: 0, 6: 3, 5: 30}, {4: 9, 6: 9, 5: 9}, 3))
    assert order == [4, 6, 5], "都等够了，就按到达的先后。\nWhere all are late they go by arrival."
