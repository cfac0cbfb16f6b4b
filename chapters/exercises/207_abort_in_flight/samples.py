from types import SimpleNamespace


class Req:
    """Stands for a request; it may go into a set."""


class Scheduler:
    """Requests by uid: 1 waits, the prompt of 2 is computed in part, 3 runs. Notes who is freed."""

    def __init__(self):
        self.chunked, self.running = Req(), Req()
        self.waiting = {1: None, 2: self.chunked}
        self.decoding = {3: self.running}
        self.finished_reqs, self.freed = set(), []
        self.prefill_manager = SimpleNamespace(abort_req=lambda uid: self.waiting.pop(uid, None))
        self.decode_manager = SimpleNamespace(abort_req=lambda uid: self.decoding.pop(uid, None))

    def _free_req_resources(self, req):
        self.freed.append(req)


def test_running(target):
    """正在运行的请求
    A request that runs"""
    scheduler = Scheduler()
    target(scheduler, 3)
    assert scheduler.freed == [scheduler.running], "它占的要还掉，一次。\nWhat it holds goes back, once."
    assert scheduler.finished_reqs == {scheduler.running}, (
        "在途的一步里可能还有它，要记下来。\nThe step in flight may have it: it must be noted."
    )


def test_prompt_in_part(target):
    """提示算到一半的请求
    A request whose prompt is computed in part"""
    scheduler = Scheduler()
    target(scheduler, 2)
    assert scheduler.freed == [scheduler.chunked], "它也占着行和页。\nIt holds a row and pages, too."
    assert scheduler.finished_reqs == {scheduler.chunked}, (
        "它的一块可能正在算。\nA chunk of it may be under way."
    )


def test_waiting(target):
    """还在排队的请求
    A request that waits"""
    scheduler = Scheduler()
    target(scheduler, 1)
    assert 1 not in scheduler.waiting and scheduler.freed == [], (
        "出队就好，它什么也没占。\nOut of the queue is all: it holds nothing."
    )
    assert scheduler.finished_reqs == set(), "没有请求可记。\nThere is no request to note."


def test_twice(target):
    """中止两次
    Aborted twice"""
    scheduler = Scheduler()
    target(scheduler, 3)
    target(scheduler, 3)
    assert scheduler.freed == [scheduler.running], "第二次什么也不做。\nThe second does nothing."
