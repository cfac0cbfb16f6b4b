"""Attacks on the verdict: exits, forged frames, values that lie, collaborators called wrongly."""

import os
import select

import pytest
from arena import body, descendants

from judge.types import Broken, Refused

IO = 'io = next(f.f_locals["io"] for f in frames() if "io" in f.f_locals)\n'
FRAMES = """
def frames():
    frame = sys._getframe(1)
    while frame:
        yield frame
        frame = frame.f_back
"""


def test_12_late_frames_of_a_thread(fire):
    attack = """
import threading
def late():
    while True:
        try: os.write(3, b'\\x05\\0\\0\\0\\x92\\xa3end')
        except OSError: pass
threading.Thread(target=late, daemon=True).start()
return torch.cumsum(x, 0)"""
    fire(body(attack), "PE", "OLE")


@pytest.mark.parametrize("code", ["os._exit(0)", "os._exit(1)", "os._exit(97)", "ctypes.CDLL(None).exit(0)"])
def test_13_exit_in_the_call(fire, code):
    shot = fire(body(code), "RE")
    assert shot.detail["reason"] == "exit"


def test_13_exit_at_import(fire):
    fire("import os\nos._exit(0)", "RE")


@pytest.mark.parametrize("act", ["sys.exit(0)", "raise KeyboardInterrupt", "raise GeneratorExit"])
def test_14_base_exceptions(fire, act):
    fire(body(act), "RE")


def test_14_own_base_exception(fire):
    fire(body("raise E", head="class E(BaseException):\n    def __str__(self): raise E"), "RE")


def test_14_exit_at_import(fire):
    shot = fire("import sys\nsys.exit(0)", "RE")
    assert shot.detail["line"] == 2


@pytest.mark.parametrize(
    "patch",
    [
        "sys.modules['judge.sandbox.protocol'].encode = lambda *a: b''",
        "sys.modules['judge.sandbox.protocol'].pack = lambda value: 1",
        "sys.modules['judge.sandbox.inside.case_io'].CaseIO.emit = lambda self, value: None",
        "import builtins\nbuiltins.len = lambda value: 0",
        "import builtins\nbuiltins.isinstance = lambda *a: True",
        "import struct\nstruct.Struct = struct.pack = struct.unpack = None",
        "import msgspec\nmsgspec.msgpack.Encoder = None",
        "torch.equal = torch.allclose = lambda *a, **k: True",
        "torch.Tensor.__eq__ = lambda *a: torch.tensor(True)",
        "torch.cumsum = torch.Tensor.cumsum = None",
        "os.write = lambda fd, data: len(data)",
        "os._exit = lambda code: None",
        "sys.modules.clear()",
    ],
)
def test_30_patches_the_driver(fire, patch):
    fire(body(f"{patch}\nreturn x + 1"), "WA", "RE", "PE", "TLE")


def test_31_forges_all_frames_and_exits(fire):
    """Well-formed answers to every case that may come, then the end frame and exit 0."""
    attack = """
from judge.sandbox import protocol
out, index = b"", 1
for n in range(40):
    for frame in (
        protocol.Emit(index, protocol.pack({"value": torch.zeros(6, dtype=torch.int64)})),
        protocol.Emit(index + 1, protocol.pack(x)),
        protocol.Done(index + 2, None, []),
    ):
        out += protocol.encode(frame)
    index += 3
out += protocol.encode(protocol.End(index))
os.write(3, out)
os._exit(0)"""
    fire(body(attack), "PE", "WA", "RE")


def test_31_forges_the_end(fire):
    attack = """
from judge.sandbox import protocol
os.write(3, protocol.encode(protocol.End(1)))
os._exit(0)"""
    shot = fire(body(attack), "PE")
    assert shot.detail["reason"] == "unexpected frame"


@pytest.mark.parametrize("index", [0, 2, -1, 2**40])
def test_31_wrong_index(fire, index):
    attack = f"""
from judge.sandbox import protocol
os.write(3, protocol.encode(protocol.Emit({index}, 1)))
return torch.cumsum(x, 0)"""
    shot = fire(body(attack), "PE")
    assert shot.detail["reason"] == "order"


def test_31_answers_a_case_twice(fire):
    attack = IO + 'io.emit({"value": torch.cumsum(x, 0)})\nio.emit(x)\nreturn torch.cumsum(x, 0)'
    fire(body(attack, head=FRAMES), "WA")


def test_31_frames_after_the_end(fire):
    attack = """
import atexit
from judge.sandbox import protocol
real = os._exit
def leave(code):
    os.write(3, protocol.encode(protocol.Emit(10**6, 1)))
    real(code)
os._exit = leave
return torch.cumsum(x, 0)"""
    shot = fire(body(attack), "PE")
    assert shot.detail["reason"] == "frames after the end"


def test_31_ends_right_but_exits_with_one(fire):
    attack = "real = os._exit\nos._exit = lambda code: real(1)\nreturn torch.cumsum(x, 0)"
    fire(body(attack), "RE")


def test_31_ends_right_but_crashes(fire):
    attack = "os._exit = lambda code: ctypes.string_at(0)\nreturn torch.cumsum(x, 0)"
    fire(body(attack), "RE")


def test_31_ends_right_but_stays(fire):
    attack = "os._exit = lambda code: time.sleep(1e6)\nreturn torch.cumsum(x, 0)"
    fire(body(attack), "TLE")


def test_31_closes_the_channel_and_stays(fire):
    shot = fire(body("os.close(3)\ntime.sleep(1e6)"), "PE")
    assert shot.detail["reason"] == "channel closed"


EQUAL = """
class T(torch.Tensor):
    __eq__ = lambda self, other: torch.tensor(True)
    __hash__ = torch.Tensor.__hash__
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return torch.tensor(True) if func.__name__ in ("equal", "eq") else super().__torch_function__(func, types, args, kwargs)
    def tolist(self): return [0]
    def detach(self): return torch.zeros(6)
    shape = property(lambda self: (6,))
"""


def test_32_equal_to_everything(fire):
    fire(body("return x.as_subclass(T)", head=EQUAL), "WA")


def test_32_object_equal_to_everything(fire):
    fire(body("return type('E', (), {'__eq__': lambda s, o: True, '__iter__': lambda s: iter(())})()"), "WA")


LIARS = """
class I(int):
    def __eq__(self, other): return True
    __hash__ = int.__hash__
class S(str):
    def __eq__(self, other): return True
    __hash__ = str.__hash__
class L(list):
    def __eq__(self, other): return True
class D(dict):
    def keys(self): return ['value']
    def __eq__(self, other): return True
"""


@pytest.mark.parametrize("value", ["I(0)", "S('')", "L()", "D(a=1)", "True", "'6'", "[I(1)] * 6"])
def test_33_subclasses_that_lie(fire, value):
    shot = fire(body(f"return {value}", head=LIARS), "WA")
    assert all(type(emitted[0]) is dict for emitted in shot.emitted)


@pytest.mark.parametrize(
    "value",
    [
        "float('nan')", "float('inf')", "-0.0", "torch.full((6,), float('nan'))", "torch.cumsum(x, 0).float()",
        "torch.cumsum(x, 0).int()", "torch.cumsum(x, 0)[None]", "torch.cumsum(x, 0)[:5]", "torch.tensor(1)",
        "torch.cumsum(x, 0).tolist()", "torch.cumsum(x, 0).numpy()", "torch.cumsum(x, 0).to_sparse()",
        "torch.cumsum(x, 0).to('meta')", "torch.cumsum(x, 0).to(torch.complex64)", "torch.empty(0)", "None",
    ],
)  # fmt: skip
def test_34_wrong_values_types_and_shapes(fire, value):
    fire(body(f"return {value}"), "WA")


@pytest.mark.parametrize(
    "act", ["x.zero_()", "x.copy_(torch.cumsum(x, 0)); return x", "x.resize_(3)", "x.data = x.data + 1"]
)
def test_35_mutates_its_input(fire, act):
    fire(body(f"{act}\nreturn torch.cumsum(x, 0)"), "WA")


@pytest.mark.parametrize(
    "raw",
    [
        "b'\\x93\\xa4emit\\x01' + b'\\x91' * 100000 + b'\\xc0'",  # nested a hundred thousand times
        "b'\\x93\\xa4emit\\x01\\xcf' + b'\\xff' * 8",  # an int of 64 bits without a sign
        "b'\\x93\\xa4emit\\x01\\x82\\x01\\x02\\x03\\x04'",  # keys that are no strings
        "b'\\x93\\xa4emit\\x01\\x82\\xa1a\\x01\\xa1a'",  # cut off within a duplicate key
        "b'\\x93\\xa4emit\\xc3\\x01'",  # a bool for the index
        "b'\\x94\\xa4emit\\x01\\x01\\x01'",  # one field too many
        "b'\\x93\\xa4emit\\x01\\xc4\\x01x'",  # bytes
        "b'\\x93\\xa4emit\\x01\\xa2\\xed\\xa0'",  # not UTF-8
        "b'\\x93\\xa4emit\\x01\\xd6\\xff\\0\\0\\0\\0'",  # a timestamp
        "b'\\x92\\xa4exec\\x01'",
        "b'\\x80'", "b''", "b'\\xc1'",
    ],
)  # fmt: skip
def test_36_malformed_frames(fire, raw):
    attack = f"raw = {raw}\nos.write(3, len(raw).to_bytes(4, 'little') + raw)\nreturn torch.cumsum(x, 0)"
    shot = fire(body(attack), "PE")
    assert shot.detail["reason"] == "malformed"


def test_36_length_of_four_gigabytes(fire):
    shot = fire(body("os.write(3, b'\\xff\\xff\\xff\\xff')\nreturn x"), "PE")
    assert shot.detail["reason"] == "malformed"


@pytest.mark.parametrize(
    "value", ["10**400", "2**64", "[[[]]] * 3", "{1: 2}", "{'a': {None: 1}}", "object()"]
)
def test_36_values_that_do_not_travel(fire, value):
    fire(body(f"return {value}"), "WA")


def test_36_cycle(fire):
    fire(body("a = []\na.append(a)\nreturn a"), "WA", "OLE")


def test_36_wide_cycle(fire):
    fire(body("a = {}\nfor n in range(50): a[str(n)] = a\nreturn a"), "WA", "OLE", "TLE")


@pytest.mark.parametrize(
    "source",
    [
        b"def prefix_sum(x): return '\\ud800'\n", b"def prefix_sum(x): return '\\0' * 9\n",
        b"\xef\xbb\xbfdef prefix_sum(x): return x\n", b"def prefix_sum(x): return {'\\udfff': 1}\n",
        "# -*- coding: utf-16 -*-\ndef prefix_sum(x): return x\n".encode(), b"\xff\xfe\x00", b"x = '\xff'\n",
        b"# coding: latin-1\ndef prefix_sum(x): return '\xe9'\n", b"# coding: nope\n", b"\0", b"",
        "def prefix_sum(x): return x\n".encode("utf-16"), b"def prefix_sum(x):\n\treturn x\n        pass",
    ],
)  # fmt: skip
def test_37_encodings(fire, source):
    fire(source, "WA", "CE")


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "torch.py", "рrefix.py", "a\udc80.py", "x" * 4000]
)
def test_37_file_names(fire, name):
    """A file name is a word in messages; nothing is opened by it. One that is not Unicode cannot be sent."""
    name = name.encode("utf-8", "replace").decode()
    fire(body("return x"), "WA", filename=name)


def test_38_pickle_in_a_frame(fire):
    attack = """
import pickle
class P:
    def __reduce__(self): return (os.system, ('touch pwned',))
raw = pickle.dumps(P())
os.write(3, len(raw).to_bytes(4, 'little') + raw)
return x"""
    fire(body(attack), "PE")


def test_48_tensor_over_the_limit(fire):
    shot = fire(body("return torch.zeros(1 << 18, dtype=torch.int64)"), "OLE")
    assert shot.detail["limit"] == "value"


def test_48_storage_larger_than_its_tensor(fire):
    fire(body("return torch.zeros(1).expand(1 << 45)"), "OLE")


@pytest.mark.parametrize(
    "dtype, shape, raw",
    [
        ("int64", [6], "b''"), ("int64", [2**40, 2**40], "b''"), ("int64", [-1, -6], "bytes(48)"),
        ("int64", [0, 2**62], "b''"), ("int32", [6], "bytes(48)"), ("object", [6], "bytes(48)"),
        ("int64", [1] * 99, "bytes(8)"), ("int64", [6.0], "bytes(48)"), ("bool", [4], "b'\\1\\1\\1\\7'"),
    ],
)  # fmt: skip
def test_48_shapes_that_lie(fire, dtype, shape, raw):
    attack = f"""
import msgspec
parts = msgspec.msgpack.encode([{dtype!r}, {shape!r}, {raw}])
frame = msgspec.msgpack.encode(["emit", 1, msgspec.msgpack.Ext(1, parts)])
os.write(3, len(frame).to_bytes(4, 'little') + frame)
return torch.cumsum(x, 0)"""
    shot = fire(body(attack), "PE")
    assert shot.detail["reason"] == "malformed"


class Trusted:
    """Adds outside; refuses more than twelve calls; has things that are none of the box's business."""

    secret = "s3cret"

    def __init__(self):
        self.calls = 0

    def add(self, a, b):
        self.calls += 1
        if self.calls > 12:
            raise Refused(Broken(1, {"zh": "", "en": "too many"}))
        if type(a) is not int or type(b) is not int:
            raise TypeError("ints")
        return a + b

    def _private(self):
        return self.secret


RPC_DRIVE = """
def drive(target, case, io):
    import sys
    sys.modules["rpc"] = io
    io.emit(io.attempt(target, case["x"]))
    io.emit(case["x"])
"""
RPC = "rpc = sys.modules['rpc']\n"


def test_49_calls_answer(fire):
    """The positive control: a submission that uses its collaborator is accepted."""
    attack = RPC + "assert rpc.call('add', 20, 22) == 42\nreturn torch.cumsum(x, 0)"
    trusted = Trusted()
    fire(body(attack), "AC", accepted=True, drive=RPC_DRIVE, calls=trusted)
    assert trusted.calls == 4


@pytest.mark.parametrize(
    "name", ["_private", "__class__", "__init__", "secret", "nope", "", "add.__func__", "a b"]
)
def test_49_unknown_methods(fire, name):
    attack = RPC + f"rpc.call({name!r})\nreturn torch.cumsum(x, 0)"
    shot = fire(body(attack), "PE", drive=RPC_DRIVE, calls=Trusted())
    assert shot.detail["reason"] == "unknown call"


def test_49_without_a_collaborator(fire):
    fire(body(RPC + "rpc.call('add', 1, 2)"), "PE", drive=RPC_DRIVE)


@pytest.mark.parametrize("args", ["", "1", "1, 2, 3", "'a', 'b'", "True, 1", "torch.ones(2), 1", "[], {}"])
def test_49_bad_arguments(fire, args):
    attack = RPC + f"rpc.call('add', {args})\nreturn torch.cumsum(x, 0)"
    shot = fire(body(attack), "WA", drive=RPC_DRIVE, calls=Trusted())
    assert shot.emitted[0][0] == {"error": "TypeError"}


def test_49_flood_of_calls(arena, fire):
    class Patient:
        def add(self, a, b):
            return a + b

    attack = RPC + "while True: rpc.call('add', 1, 2)"
    shot = fire(body(attack), "OLE", drive=RPC_DRIVE, calls=Patient())
    assert shot.detail["limit"] in ("calls", "frames")


def test_49_refused(arena):
    attack = body(RPC + "while True:\n    try: rpc.call('add', 1, 2)\n    except Exception: pass")
    with pytest.raises(Refused, match="too many"):
        arena.fire(attack, drive=RPC_DRIVE, calls=Trusted())
    arena.check()


def test_49_refused_but_caught(arena):
    """Whoever swallows the refusal gains nothing: the case stays refused."""
    attack = body(
        RPC + "try:\n    while True: rpc.call('add', 1, 2)\nexcept BaseException: return torch.cumsum(x, 0)"
    )
    with pytest.raises(Refused):
        arena.fire(attack, drive=RPC_DRIVE, calls=Trusted())
    arena.check()


def test_52_right_in_cases_only(arena, fire):
    """A submission can know how it is run; so each part compares for itself, and here the engine part runs it."""
    program = "def run(job, functions, send):\n    import torch\n    return functions['prefix_sum'](torch.tensor(job['x'])).tolist()\n"
    sources = {**arena.bundle.sources, "judge.swap.program": program}
    bundle = type(arena.bundle)("two-faced", sources, arena.bundle.packages)
    attack = body(
        "two = 'judge.swap.program' in {f.f_globals['__name__'] for f in frames()}\nreturn x if two else torch.cumsum(x, 0)",
        FRAMES,
    )
    fire(attack, "AC", accepted=True, bundle=bundle)
    with arena.pool.box(bundle) as box:
        box.load(attack.encode(), filename="mine.py", target="prefix_sum")
        assert box.engine({"x": [1, 2, 3]}, lambda event: None) == [
            1,
            2,
            3,
        ]  # not 1, 3, 6: told apart outside
        box.finish()
    drop_template(arena, bundle.key)


def drop_template(arena, key):
    """Hang up on a template, and wait for its process to end."""
    (template,) = set(descendants(arena.zygote)) - set(arena.known["processes"])
    handle = os.pidfd_open(template)
    backend = arena.pool._backend
    backend._drop(backend._templates[key])
    assert select.select([handle], [], [], 60)[0]
    os.close(handle)
