def request(id, computed, target, blocks, **more):
    """A request as the function gets it."""
    return {"id": id, "computed": computed, "target": target, "blocks": blocks, **more}


def plan(result):
    """What each request got and now has: id, scheduled, computed, blocks."""
    return [(r["id"], r["scheduled"], r["computed"], r["blocks"]) for r in result["requests"]]


def test_example(target):
    """题目里的例子：一个结束，一个解码，一个新来
    The example: one finished, one decoding, one new"""
    requests = [
        request("a", 4, 4, 1, finished=True),
        request("b", 4, 5, 1),
        request("c", 0, 4, 0),
    ]
    result = target(requests, 1, 5, 4)
    assert plan(result) == [("b", 1, 5, 2), ("c", 4, 4, 1)], (
        "a 释放 1 块；b 得到 1 个 token、1 块；c 得到 4 个 token、1 块。\n"
        "a releases 1 block; b gets 1 token and 1 block; c gets 4 tokens and 1 block."
    )
    assert (result["free_blocks"], result["token_budget"]) == (0, 0), (
        "空闲块 1 + 1 - 1 - 1，token 预算 5 - 1 - 4。\nFree blocks 1 + 1 - 1 - 1, token budget 5 - 1 - 4."
    )


def test_skipped_costs_nothing(target):
    """放不下的跳过，后面的照常
    One that does not fit is skipped, the next one runs"""
    result = target([request("a", 0, 8, 0), request("b", 4, 8, 2)], 1, 8, 4)
    assert plan(result) == [("a", 0, 0, 0), ("b", 4, 8, 2)], (
        "a 要 2 块，只有 1 块；b 的第二块还空着，不需要新块。\n"
        "a needs 2 blocks and there is 1; b has room in its second block and needs none."
    )
    assert result["token_budget"] == 4, (
        "a 没有运行，不扣它的 token。\na did not run; nothing is charged for it."
    )


def test_caught_up_is_not_finished(target):
    """追上目标的请求留下
    A request that has caught up stays"""
    result = target([request("a", 4, 4, 1)], 0, 3, 4)
    assert plan(result) == [("a", 0, 4, 1)], (
        "computed == target 只是追上了，接下来要采样。\n"
        "computed == target is only caught up; sampling follows."
    )


def test_inputs_stay(target):
    """输入不改动
    The inputs stay as they are"""
    requests = [request("a", 0, 3, 0)]
    target(requests, 4, 8, 4)
    assert requests == [request("a", 0, 3, 0)], "要改的是副本。\nChange a copy."


def test_values_that_make_no_sense(target):
    """无效的数值
    Values that make no sense"""
    for args in [([], -1, 4, 4), ([], 1, 4, 0), ([request("a", 5, 4, 2)], 1, 4, 4)]:
        try:
            target(*args)
        except ValueError:
            continue
        raise AssertionError(
            "负的预算、块大小 0、computed 超过 target，都要抛出 ValueError。\n"
            "A negative budget, block size 0 and computed > target all raise ValueError."
        )
