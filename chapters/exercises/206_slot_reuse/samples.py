from types import SimpleNamespace


class Scheduler:
    """Notes what is given back, in order; row 2 is the request's."""

    def __init__(self, in_flight):
        self.in_flight, self.deferred_slots, self.notes = in_flight, [], []
        self.table_manager = SimpleNamespace(free=lambda slot: self.notes.append(f"row {slot}"))
        self.cache_manager = SimpleNamespace(cache_req=self.cache_req)

    def cache_req(self, req, *, finished):
        self.notes.append("pages" if finished else "nothing")


REQ = SimpleNamespace(uid=7, table_idx=2)


def test_nothing_in_flight(target):
    """没有批次在途：页和行都还
    No batch in flight: pages and row go back"""
    scheduler = Scheduler(in_flight=False)
    target(scheduler, REQ)
    assert scheduler.notes == ["pages", "row 2"], "先交页，再还行。\nPages first, then the row."
    assert scheduler.deferred_slots == [], "没有什么可推迟的。\nThere is nothing to defer."


def test_a_batch_in_flight(target):
    """有批次在途：行要推迟
    A batch in flight: the row is deferred"""
    scheduler = Scheduler(in_flight=True)
    target(scheduler, REQ)
    assert "row 2" not in scheduler.notes, (
        "在途的一步还会写这一行。\nThe step in flight still writes to this row."
    )
    assert scheduler.deferred_slots == [2], "行号记进 deferred_slots。\nIts number goes into deferred_slots."


def test_pages_are_not_deferred(target):
    """有批次在途：页照样立刻交
    A batch in flight: pages go back all the same"""
    scheduler = Scheduler(in_flight=True)
    target(scheduler, REQ)
    assert scheduler.notes[0] == "pages", "页受流的顺序保护。\nThe order of the stream protects pages."


def test_two_ends(target):
    """同一批在途时结束两个请求
    Two requests end during one batch"""
    scheduler = Scheduler(in_flight=True)
    scheduler.deferred_slots.append(0)
    target(scheduler, REQ)
    assert scheduler.deferred_slots == [0, 2], "接在已有的后面。\nIt follows those that are there."
