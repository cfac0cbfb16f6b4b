def raised(target, *args):
    """The class of what the call raises, or None when it returns; a subclass counts as its base."""
    try:
        target(*args)
    except (ValueError, IndexError) as error:
        return ValueError if isinstance(error, ValueError) else IndexError
    except Exception as error:
        return type(error)
    return None


def test_example(target):
    """题目里的例子：块表 [7, 1, 3]，位置 9
    The example: block table [7, 1, 3], position 9"""
    expected = {"logical_block": 2, "physical_block": 3, "offset": 1}
    assert target([7, 1, 3], 9, 4) == expected, (
        "位置 9 前面有两个满块，在第三块里它前面有一格。\n"
        "Two full blocks lie before position 9, and one slot before it in the third."
    )


def test_edges_of_a_block(target):
    """一块的第一格和最后一格
    First and last slot of a block"""
    last = target([7, 1, 3], 3, 4)
    assert last == {"logical_block": 0, "physical_block": 7, "offset": 3}, (
        "位置 3 是第一块的最后一格。\nPosition 3 is the last slot of the first block."
    )
    first = target([7, 1, 3], 4, 4)
    assert first == {"logical_block": 1, "physical_block": 1, "offset": 0}, (
        "位置 4 是第二块的第一格，块号按表取。\n"
        "Position 4 is the first slot of the second block, whose number is in the table."
    )


def test_past_the_end(target):
    """位置落在块表之外
    A position past the end of the table"""
    assert raised(target, [7, 1, 3], 12, 4) is IndexError, (
        "三块每块四格，只到位置 11。\nThree blocks of four slots end at position 11."
    )


def test_values_that_make_no_sense(target):
    """无效的数值
    Values that make no sense"""
    assert raised(target, [7, 1, 3], -1, 4) is ValueError, "位置不能为负。\nA position is not negative."
    assert raised(target, [7, 1, 3], True, 4) is ValueError, (
        "True 不是位置：bool 不算 int。\nTrue is no position: a bool is not an int here."
    )
    assert raised(target, [7, -1, 3], 5, 4) is ValueError, (
        "第二项是 -1，这一块没有分配。\nThe second entry is -1: that block is not allocated."
    )
