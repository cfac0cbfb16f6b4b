import torch


def filtered(target, probs, top_k, top_p, min_p):
    """The target's answer for rows and settings given as lists, rounded."""
    result = target(torch.tensor(probs), torch.tensor(top_k), torch.tensor(top_p), torch.tensor(min_p))
    return [[round(value, 4) for value in row] for row in result.tolist()]


def test_example(target):
    """题目里的例子：top-k 3，top-p 0.6
    The example: top-k 3, top-p 0.6"""
    rows = filtered(target, [[0.5, 0.25, 0.15, 0.1]], [3], [0.6], [0.0])
    assert rows == [[0.6667, 0.3333, 0.0, 0.0]], (
        "0.5556 还不到 0.6，跨过去的也留下。\n0.5556 is less than 0.6; the one that crosses it stays."
    )


def test_best_always_stays(target):
    """最大的一个就超过了 top-p
    The most likely one alone exceeds top-p"""
    rows = filtered(target, [[0.1, 0.7, 0.2]], [3], [0.3], [0.0])
    assert rows == [[0.0, 1.0, 0.0]], "它之前的和是 0，留下。\nThe sum before it is 0, so it stays."


def test_equal_probabilities(target):
    """四个一样大，top-k 2
    Four equal ones, top-k 2"""
    rows = filtered(target, [[0.25, 0.25, 0.25, 0.25]], [2], [1.0], [0.0])
    assert rows == [[0.5, 0.5, 0.0, 0.0]], "先留编号小的。\nThose with the lower ids stay."


def test_min_p(target):
    """min-p 0.4：至少是最大的四成
    Min-p 0.4: at least four tenths of the largest"""
    rows = filtered(target, [[0.1, 0.6, 0.3]], [3], [1.0], [0.4])
    assert rows == [[0.0, 0.6667, 0.3333]], (
        "0.1 小于 0.4 × 0.6；编号不变。\n0.1 is less than 0.4 × 0.6; ids stay as they are."
    )


def test_rows_of_their_own(target):
    """两行，参数不同
    Two rows with different settings"""
    rows = filtered(target, [[0.5, 0.3, 0.2], [0.5, 0.3, 0.2]], [1, 3], [1.0, 1.0], [0.0, 0.0])
    assert rows == [[1.0, 0.0, 0.0], [0.5, 0.3, 0.2]], (
        "第二行什么也没有设，原样留下。\nThe second row sets nothing and stays as it is."
    )
