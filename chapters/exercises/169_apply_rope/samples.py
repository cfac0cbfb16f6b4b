import torch

# rows by position; the first pair turns by 90 degrees a position, the second not at all
TABLE = torch.tensor(
    [[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 0.0], [-1.0, 1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0]]
)


def turned(target, rows, positions):
    """One head a token."""
    x = torch.tensor(rows).unsqueeze(1)
    return target(x, torch.tensor(positions), TABLE).squeeze(1).tolist()


def test_example(target):
    """题目里的例子：第一对转 90 度
    The example: the first pair turns by 90 degrees"""
    assert turned(target, [[1.0, 2.0, 3.0, 4.0]], [1]) == [[-3.0, 2.0, 1.0, 4.0]], (
        "第 0 维与第 2 维是一对，(1, 3) 转成 (-3, 1)。\n"
        "Dimensions 0 and 2 are a pair: (1, 3) becomes (-3, 1)."
    )


def test_positions_in_any_order(target):
    """三个 token，位置 2、0、2
    Three tokens at positions 2, 0, 2"""
    rows = [[1.0, 0.0, 3.0, 5.0], [1.0, 0.0, 3.0, 5.0], [2.0, 7.0, 4.0, 0.0]]
    assert turned(target, rows, [2, 0, 2]) == [
        [-1.0, 0.0, -3.0, 5.0],
        [1.0, 0.0, 3.0, 5.0],
        [-2.0, 7.0, -4.0, 0.0],
    ], "查表按位置，不按第几个 token。\nThe table is looked up by position, not by the token's place."


def test_all_heads_alike(target):
    """两个头，同一个位置
    Two heads at one position"""
    x = torch.tensor([[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]])
    result = target(x, torch.tensor([3]), TABLE)
    assert result.tolist() == [[[3.0, 2.0, -1.0, 4.0], [7.0, 6.0, -5.0, 8.0]]], (
        "一个 token 的每个头转同样的角度。\nAll heads of a token turn by the same angles."
    )
    assert x.tolist() == [[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]], (
        "`x` 不能改动。\n`x` is not to be changed."
    )
