def event(round, id, kind, **more):
    """Something that happened to a request."""
    return {"round": round, "id": id, "kind": kind, **more}


def run(round, id, start, tokens):
    """Positions start to start + tokens - 1 were computed."""
    return event(round, id, "run", start=start, tokens=tokens)


def test_all_is_lost(target):
    """题目里的例子：KV 全丢了
    The example: all KV is lost"""
    clocks = target(
        [
            event(0, "a", "arrive"),
            run(1, "a", 0, 4),
            event(2, "a", "preempt"),
            run(4, "a", 0, 5),
            event(4, "a", "emit"),
        ]
    )["a"]
    assert (clocks["executed"], clocks["valid"], clocks["recomputed"]) == (9, 5, 4), (
        "跑了 4 + 5 个；到过位置 0 到 4；多跑的 4 个是重算。\n"
        "4 + 5 tokens ran; positions 0 to 4 were reached; the 4 more are recomputed."
    )
    assert (clocks["emitted"], clocks["first_wait"], clocks["paused"]) == (1, 1, 2), (
        "产出 1 个；第 1 轮才跑，等了 1 轮；从第 2 轮停到第 4 轮。\n"
        "1 token was emitted; it first ran in round 1 after a wait of 1; it paused from round 2 to 4."
    )


def test_a_prefix_is_still_cached(target):
    """题目里的例子：前 3 个位置还在缓存里
    The example: the first 3 positions are still cached"""
    clocks = target(
        [
            event(0, 7, "arrive"),
            run(1, 7, 0, 4),
            event(2, 7, "preempt"),
            run(4, 7, 3, 2),
            event(4, 7, "emit"),
        ]
    )[7]
    assert (clocks["executed"], clocks["valid"], clocks["recomputed"]) == (6, 5, 1), (
        "第二次只跑位置 3 和 4，其中只有 3 是重算。\n"
        "The second time only positions 3 and 4 run, of which only 3 is recomputed."
    )


def test_two_requests(target):
    """两个请求，一个还没轮到
    Two requests, one of which has not had its turn"""
    clocks = target(
        [
            event(0, "a", "arrive"),
            event(1, "b", "arrive"),
            run(2, "a", 0, 3),
            event(2, "a", "emit"),
            run(3, "a", 3, 1),
            event(3, "a", "emit"),
            event(4, "a", "preempt"),
        ]
    )
    assert (clocks["b"]["first_wait"], clocks["b"]["executed"]) == (None, 0), (
        "b 还没有跑过，第一次等待还没有结果。\nb has not run yet, so its first wait has no value."
    )
    assert (clocks["a"]["valid"], clocks["a"]["emitted"]) == (4, 2), (
        "a 到过 4 个位置，产出 2 个；被请出去不会让它们减少。\n"
        "a has reached 4 positions and emitted 2; being sent away lowers neither."
    )
    assert clocks["a"]["paused"] == 0, (
        "这次暂停还没有等到下一次运行，不算。\nThis pause has no next run yet, so it does not count."
    )
