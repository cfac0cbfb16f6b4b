def one_hot(calls):
    """The statement's make-believe model, which notes down each call."""

    def forward(ids, start):
        calls.append((list(ids), start))
        return [float(token == (sum(ids) + start) % 7) for token in range(7)]

    return forward


def scripted(*answers):
    """A model that answers with these logits, call by call."""
    waiting = list(answers)
    return lambda ids, start: list(waiting.pop(0))


def test_example(target):
    """题目里的例子：提示 [3, 1]，写三个
    The example: prompt [3, 1], three new tokens"""
    calls = []
    assert target(one_hot(calls), [3, 1], 3) == [4, 6, 2], (
        "每个新 token 是最大的 logit 的编号。\nEach new token is the id of the largest logit."
    )
    assert calls == [([3, 1], 0), ([4], 2), ([6], 3)], (
        "提示一次喂完，之后每次只喂一个新 token，位置接着数。\n"
        "The prompt goes in at once, then one new token a call, at the next position."
    )


def test_eos_ends_it(target):
    """选出 eos 就结束
    The eos ends it"""
    calls = []
    assert target(one_hot(calls), [3, 1], 3, eos=6) == [4], (
        "第二次选出 6，就是 eos：结束，它不放进结果。\n"
        "The second call chooses 6, the eos: stop, and leave it out of the result."
    )
    assert len(calls) == 2, "eos 不再喂进去。\nThe eos is not fed."


def test_lowest_id_of_equal_ones(target):
    """两个 logit 一样大
    Two logits are equal"""
    assert target(scripted([-1.0, 2.5, 2.5], [-4.0, -3.0, -3.0]), [0], 2) == [1, 1], (
        "一样大时取编号最小的；logits 全是负数也一样。\n"
        "Of equal ones the lowest id is taken, also where all logits are negative."
    )


def test_nothing_to_write(target):
    """没有要写的，或者没有提示
    Nothing to write, or no prompt"""
    calls = []
    assert target(one_hot(calls), [5], 0) == [], "一个也不写。\nNo token is due."
    assert calls == [], "没人要用的前向不要做。\nNo forward runs whose logits nobody uses."
    try:
        target(one_hot(calls), [], 2)
    except ValueError:
        return
    raise AssertionError("空的提示：ValueError。\nAn empty prompt: ValueError.")
