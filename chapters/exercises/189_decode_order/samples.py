from minisgl.scheduler.decode import DecodeManager


class Running:
    """A running request; `place` says where a set puts it, as its address would."""

    def __init__(self, uid, table_idx, place):
        self.uid, self.table_idx, self.place = uid, table_idx, place
        self.can_decode, self.remain_len = True, 4

    def __hash__(self):
        return self.place


def start(*requests):
    """A manager with these requests running."""
    manager = DecodeManager(page_size=1)
    manager.filter_reqs(requests)
    return manager


def order(batch):
    """The uids of a batch, row by row."""
    return [req.uid for req in batch.reqs]


def test_example(target):
    """题目里的三个请求
    The three requests of the example"""
    batch = target(start(Running(7, 0, 0), Running(3, 2, 1), Running(5, 1, 2)))
    assert order(batch) == [3, 5, 7], (
        "按 uid 升序：3 在第 0 行，7 在第 2 行。\nIn ascending uid: 3 in row 0, 7 in row 2."
    )
    assert batch.phase == "decode", "这是解码的一批。\nThis is a decode batch."


def test_two_ranks(target):
    """两张卡：同样的请求，集合给出的次序不同
    Two ranks: the same requests, which the sets yield in different orders"""
    one = target(start(Running(7, 0, 0), Running(3, 2, 1), Running(5, 1, 2)))
    other = target(start(Running(7, 0, 1), Running(3, 2, 0), Running(5, 1, 2)))
    assert order(one) == order(other), (
        "两张卡的同一行必须是同一个请求。\nThe same row has to be the same request on both ranks."
    )


def test_nothing_runs(target):
    """没有请求在跑
    Nothing runs"""
    assert target(start()) is None, "没有可解码的，返回 None。\nNothing to decode: None."


def test_the_set_stays(target):
    """集合不改变
    The set stays as it is"""
    requests = [Running(4, 0, 0), Running(1, 1, 1)]
    manager = start(*requests)
    target(manager)
    assert manager.running_reqs == set(requests), (
        "下一步它们还要解码，不能从集合里拿走。\nThey decode in the next step, too: take none out."
    )
