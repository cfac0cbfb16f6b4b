def pairs(plan):
    """The plan as a list of tuples."""
    return [tuple(entry) for entry in plan]


def test_example(target):
    """题目里的例子
    The example"""
    plan = pairs(target([3, 1], [(7, 20), (8, 5)], 16))
    assert plan == [(1, 1), (3, 1), (7, 14)], (
        "两个解码各 1 个，剩下的 14 个都给 7 号。\nTwo decodes with 1 each; the 14 left all go to number 7."
    )


def test_all_fits(target):
    """预算够所有人
    The budget is enough for all"""
    plan = pairs(target([5], [(2, 3), (1, 4)], 8))
    assert plan == [(5, 1), (2, 3), (1, 4)], (
        "1 + 3 + 4 = 8，正好；提示保持给定的次序。\n1 + 3 + 4 = 8 just fits; prompts keep the order given."
    )


def test_nobody_pauses(target):
    """解码比预算还多
    More decodes than budget"""
    plan = pairs(target([2, 0, 1], [(9, 4)], 2))
    assert plan == [(0, 1), (1, 1), (2, 1)], (
        "三个解码都要走一步；提示没有剩下的预算。\nAll three decodes go on; no budget is left for the prompt."
    )


def test_only_prompts(target):
    """没有人在解码
    Nobody decodes"""
    plan = pairs(target([], [(0, 50), (1, 9)], 16))
    assert plan == [(0, 16)], (
        "第一块用光了预算，1 号不出现。\nThe first chunk uses up the budget; number 1 does not appear."
    )
