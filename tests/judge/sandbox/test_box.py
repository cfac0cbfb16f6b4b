"""What a box does for the judge: load, cases, collaborators, samples, the engine, the end."""

import pytest
import torch

from judge.sandbox import Limits, Opaque, Parameter, Stopped
from judge.sandbox.protocol import arrived

DOUBLE = b"def double(x):\n    return x * 2\n"
DRIVE = "def drive(target, case, io):\n    io.emit(target(case['x']))\n"
LIMITS = Limits(cpu_s=5, wall_s=30)


def load(box, source=DOUBLE, **options):
    box.load(source, filename="mine.py", target="double", **options)


def stopped(pool, bundle, source, limits=LIMITS, **options):
    """How a submission ends that does not get through loading and one case."""
    with pool.box(bundle, limits) as box, pytest.raises(Stopped) as caught:
        load(box, source, **options)
        answer = box.case(DRIVE, {"x": 1})
        assert answer.raised is None, answer
        box.finish()
    return caught.value


def test_values_go_in_and_come_back(pool, bundle):
    values = [
        3,
        2.5,
        "ab",
        [1, "é", None],
        torch.arange(6).reshape(2, 3),
        torch.tensor([1.5], dtype=torch.bfloat16),
    ]
    with pool.box(bundle, LIMITS) as box:
        load(box, b"def double(x):\n    return x\n")
        for value in values:
            (emitted,) = box.case(DRIVE, {"x": value}).emitted
            due = arrived(value)
            assert type(emitted) is type(due) and emitted == due
        usage = box.finish()
    assert usage.cpu_s > 0 and usage.wall_s > 0


def test_an_exception_names_class_message_and_line(isolated_pool, bundle):
    with isolated_pool.box(bundle, LIMITS) as box:
        load(
            box,
            b"def double(x):\n    y = 1\n    return helper(y)\n\ndef helper(y):\n    raise KeyError('no')\n",
        )
        raised = box.case(DRIVE, {"x": 1}).raised
        assert (raised.name, raised.message, raised.line) == ("KeyError", "'no'", 6)
        assert box.case(DRIVE, {"x": 1}).raised is not None  # the box goes on
        box.finish()


def test_attempt_tells_the_class_and_keeps_the_rest_on_the_side(isolated_pool, bundle):
    drive = "def drive(t, case, io):\n    io.emit(io.attempt(t, 1))\n    io.emit(io.attempt(t, 0))\n"
    with isolated_pool.box(bundle, LIMITS) as box:
        load(box, b"def double(x):\n    return 1 / x\n")
        answer = box.case(drive, {})
        assert answer.emitted == [{"value": 1.0}, {"error": "ZeroDivisionError"}]
        assert [(note.name, note.line) for note in answer.notes] == [("ZeroDivisionError", 2)]
        assert answer.raised is None
        box.finish()


class Bank:
    def __init__(self):
        self.log = []

    def move(self, amount, tensor):
        self.log.append((amount, tensor.tolist()))
        if amount < 0:
            raise ValueError("negative")
        return {"left": 10 - amount, "tensor": tensor.torch() + 1}


def test_a_drive_asks_the_trusted_object_outside(pool, bundle):
    drive = """
def drive(target, case, io):
    import torch
    got = io.call("move", 3, torch.ones(2))
    io.emit([got["left"], got["tensor"]])
    io.emit(io.attempt(io.call, "move", -1, torch.ones(1)))
    io.emit(io.obj(a=1).a)
"""
    bank = Bank()
    with pool.box(bundle, LIMITS) as box:
        load(box)
        (first, second, third) = box.case(drive, {}, bank).emitted
        box.finish()
    assert first[0] == 7 and first[1] == arrived(torch.full((2,), 2.0))
    assert second == {"error": "ValueError"} and third == 1
    assert bank.log == [(3, [1.0, 1.0]), (-1, [1.0])]


def test_what_cannot_travel_equals_nothing(isolated_pool, bundle):
    with isolated_pool.box(bundle, LIMITS) as box:
        load(box, b"def double(x):\n    return {1, 2}\n")
        (emitted,) = box.case(DRIVE, {"x": 1}).emitted
        assert isinstance(emitted, Opaque) and emitted != emitted and "set" in emitted.what
        box.finish()


@pytest.mark.parametrize(
    "source, reason, line",
    [
        (b"", "empty", None),
        (b"\xef\xbb\xbf  \n", "empty", None),
        (b"def double(x)\n    return x", "syntax", 1),
        (b"x = 1\0", "syntax", None),
        (b"# coding: klingon\n", "missing", None),
        (b"\xff\xfe", "syntax", None),
        (b"def triple(x): return x", "missing", None),
        (b"class double: pass", "kind", None),
        (b"double = 3", "kind", None),
        (b"def double(y): return y", "signature", 1),
        (b"\ndef double(): return 1", "signature", 2),
        (b"def double(x, y): return x", "signature", 1),
        (b"def double(*, x): return x", "signature", 1),
    ],
)
def test_what_does_not_define_the_target_is_ce(isolated_pool, bundle, source, reason, line):
    end = stopped(isolated_pool, bundle, source, parameters=[Parameter("x")])
    assert (end.verdict, end.detail["reason"], end.detail["line"]) == ("CE", reason, line)


@pytest.mark.parametrize(
    "source", [b"def double(x, y=1): return x", b"def double(*a, **k): return 1", b"double = lambda x: x"]
)
def test_a_signature_that_takes_every_due_call_will_do(isolated_pool, bundle, source):
    with isolated_pool.box(bundle, LIMITS) as box:
        load(box, source, parameters=[Parameter("x")])
        box.finish()


def test_a_class_needs_its_members(isolated_pool, bundle):
    source = b"class double:\n    def one(self): pass\n"
    with isolated_pool.box(bundle, LIMITS) as box:
        load(box, source, kind="class", members=["one"])
        box.finish()
    end = stopped(isolated_pool, bundle, source, kind="class", members=["one", "two"])
    assert (end.verdict, end.detail["reason"], end.detail["message"]) == ("CE", "members", "two")


@pytest.mark.parametrize(
    "source, line",
    [(b"x = 1\n1 / 0\n", 2), (b"import nothing_of_that_name\n", 1), (b"\n\nraise SystemExit(0)", 3)],
)
def test_an_exception_at_import_is_re(isolated_pool, bundle, source, line):
    end = stopped(isolated_pool, bundle, source)
    assert (end.verdict, end.detail["reason"], end.detail["line"]) == ("RE", "import", line)


def test_leaving_without_the_end_is_re(pool, bundle):
    end = stopped(pool, bundle, b"import os\ndef double(x):\n    print('bye', flush=True)\n    os._exit(0)\n")
    assert (end.verdict, end.detail["reason"], end.detail["exit"]) == ("RE", "exit", 0)
    assert end.usage.stdout == "bye\n"


def test_cpu_time_is_limited(pool, bundle):
    end = stopped(pool, bundle, b"def double(x):\n    while True: pass\n", Limits(cpu_s=0.5, wall_s=30))
    assert (end.verdict, end.detail["limit"]) == ("TLE", "cpu")
    assert end.usage.cpu_s >= 0.5


def test_wall_time_is_limited(isolated_pool, bundle):
    source = b"import time\ndef double(x): time.sleep(1000)\n"
    end = stopped(isolated_pool, bundle, source, Limits(cpu_s=5, wall_s=0.3))
    assert (end.verdict, end.detail["limit"]) == ("TLE", "wall")


def test_wall_time_does_not_run_while_the_judge_is_busy(isolated_pool, bundle):
    with isolated_pool.box(bundle, LIMITS) as box:
        load(box)
        before = box.wall_s
        sum(range(10**6))
        assert box.wall_s == before
        box.finish()


def test_printing_is_limited(isolated_pool, bundle):
    end = stopped(isolated_pool, bundle, b"def double(x):\n    while True: print('spam' * 100)\n")
    assert (end.verdict, end.detail["limit"]) == ("OLE", "stdout")


def test_memory_is_limited(isolated_pool, bundle):
    source = b"def double(x):\n    return len([bytearray(1 << 20) for _ in range(4000)])\n"
    end = stopped(isolated_pool, bundle, source, Limits(cpu_s=5, memory_mb=128, wall_s=30))
    assert (end.verdict, end.detail["limit"]) == ("MLE", "memory")


SAMPLES = '''
import torch


def test_right(target):
    """Doubles."""
    print("seen")
    assert target(2) == 4


def test_wrong(target):
    got = target(3)
    assert got == 7, "three"


def test_turned(target):
    assert 9 == target(4)


def test_tensors(target):
    assert torch.equal(target(torch.ones(2)), torch.zeros(2))


def test_other(target):
    value = target(5)
    assert (
        value < 5
    )


def test_raises(target):
    target(None)
'''


def test_samples_explain_themselves(pool, bundle):
    with pool.box(bundle, LIMITS) as box:
        load(box)
        right, wrong, turned, tensors, other, raises = box.samples(SAMPLES)
        box.finish()
    assert (right.name, right.ok, right.stdout) == ("test_right", True, "seen\n")
    assert (wrong.ok, wrong.line, wrong.assertion) == (False, 13, "got == 7")
    assert (wrong.expected, wrong.got, wrong.message) == ("7", "6", "three")
    assert (turned.expected, turned.got) == ("9", "8")
    assert (tensors.expected, tensors.got) == ("tensor([0., 0.])", "tensor([2., 2.])")
    assert (other.line, other.expected, other.got) == (26, "", "")
    assert other.assertion == "value < 5"
    assert raises.message.startswith("TypeError: ") and raises.raised_line == 2


def test_the_engine_streams_events_and_answers(pool, bundle):
    events = []
    with pool.box(bundle, LIMITS) as box:
        load(box)
        assert box.engine({"x": 21, "events": 3}, events.append) == {"answer": 42}
        assert events == [{"number": 0}, {"number": 1}, {"number": 2}]
        box.finish()


def test_an_exception_in_the_engine_is_re(isolated_pool, bundle):
    with isolated_pool.box(bundle, LIMITS) as box, pytest.raises(Stopped) as caught:
        load(box, b"def double(x):\n    raise ValueError('here')\n")
        box.engine({"x": 1, "events": 0}, lambda event: None)
    assert caught.value.verdict == "RE"
    assert (caught.value.detail["name"], caught.value.detail["line"]) == ("ValueError", 2)


def test_the_engines_target_is_cut_out_and_the_rest_is_there(isolated_pool):
    from judge.sandbox import make_bundle

    cut = type(
        "Cut",
        (),
        {"target": "minisgl.scheduler.cache:CacheManager.allocate_paged", "members": [], "also_cut": []},
    )
    source = b"""
from minisgl.scheduler.cache import CacheManager
def double(x):
    try:
        CacheManager.allocate_paged(None, [])
    except NotImplementedError as error:
        return [str(error), CacheManager.cache_req.__name__]
"""
    with isolated_pool.box(make_bundle(cut), LIMITS) as box:
        load(box, source)
        ((message, name),) = box.case(DRIVE, {"x": 1}).emitted
        box.finish()
    assert "allocate_paged" in message and name == "cache_req"
