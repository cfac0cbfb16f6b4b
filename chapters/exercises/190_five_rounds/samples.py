def request(id, computed, target, blocks, scheduled):
    """A request as step returns it."""
    return {"id": id, "computed": computed, "target": target, "blocks": blocks, "scheduled": scheduled}


class Scripted:
    """The step of the example: it answers by heart, and keeps what it was given."""

    def __init__(self):
        self.given = []
        self.answers = [
            ([request("A", 3, 3, 1, 3), request("B", 3, 6, 1, 3)], 1, 0),
            ([request("A", 4, 4, 1, 1), request("B", 6, 6, 2, 3), request("C", 0, 2, 0, 0)], 0, 2),
            ([request("C", 2, 2, 1, 2)], 2, 4),
            ([request("C", 3, 3, 1, 1)], 2, 5),
            ([], 3, 6),
        ]

    def __call__(self, requests, free_blocks, token_budget, block_size):
        queue = [
            (r["id"], r["computed"], r["target"], "finished" if r.get("finished") else "live")
            for r in requests
        ]
        self.given.append((queue, free_blocks, token_budget, block_size))
        live, free, budget = self.answers[len(self.given) - 1]
        return {"requests": live, "free_blocks": free, "token_budget": budget}


def run(target, rounds=5):
    """The example: its records, and what step was given."""
    step = Scripted()
    arrivals = [
        {"id": "A", "round": 0, "prompt": 3, "output": 2},
        {"id": "B", "round": 0, "prompt": 6, "output": 1},
        {"id": "C", "round": 1, "prompt": 2, "output": 2},
    ]
    return target(step, arrivals, 3, 6, 4, rounds), step.given


def test_first_record(target):
    """第 0 轮的记录
    The record of round 0"""
    records, _ = run(target, rounds=1)
    assert records == [
        {
            "round": 0,
            "free": 1,
            "scheduled": {"A": 3, "B": 3},
            "computed": {"A": 3, "B": 3},
            "blocks": {"A": 1, "B": 1},
        }
    ], "A 和 B 各算 3 个、各占 1 块，还剩 1 块。\nA and B compute 3 each and hold 1 block each; 1 is left."


def test_the_table(target):
    """题目里的表
    The table of the example"""
    records, _ = run(target)
    assert [record["free"] for record in records] == [1, 0, 2, 2, 3], (
        "每轮 step 之后的空闲块。\nThe free blocks after the step of each round."
    )
    assert [record["scheduled"] for record in records] == [
        {"A": 3, "B": 3},
        {"A": 1, "B": 3, "C": 0},
        {"C": 2},
        {"C": 1},
        {},
    ], "没得到 token 的记 0；已结束的不再出现。\n0 for one that got none; whoever has ended is gone."


def test_who_goes_into_each_step(target):
    """每一轮交给 step 的队伍
    The queue that each step is given"""
    _, given = run(target)
    assert [queue for queue, _, _, _ in given[:2]] == [
        [("A", 0, 3, "live"), ("B", 0, 6, "live")],
        [("A", 3, 4, "live"), ("B", 3, 6, "live"), ("C", 0, 2, "live")],
    ], (
        "A 采样了一个，目标变成 4；B 还没追上；C 排到队尾。\n"
        "A has sampled one, and its target is 4; B has not caught up; C is at the end."
    )
    assert given[2][0] == [("A", 4, 4, "finished"), ("B", 6, 6, "finished"), ("C", 0, 2, "live")], (
        "A 和 B 都采样完了，以已结束的身份进第 2 轮，在那里释放。\n"
        "A and B have sampled all they want; they go into round 2 as finished and are released there."
    )


def test_both_budgets(target):
    """两个预算
    Both budgets"""
    _, given = run(target)
    assert [(free, budget) for _, free, budget, _ in given] == [(3, 6), (1, 6), (0, 6), (2, 6), (2, 6)], (
        "空闲块接着上一轮剩下的；token 预算每轮都是 6。\n"
        "Free blocks are what the round before has left; the token budget is 6 in each round."
    )
