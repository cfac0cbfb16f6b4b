"""Attacks on the machine's resources: processes, threads, memory, time, output, disk, descriptors."""

import pytest
from arena import body

from judge.sandbox import Limits

PATIENT = Limits(cpu_s=5, memory_mb=192, wall_s=15)  # to fill memory takes time on a busy machine


@pytest.mark.parametrize("fork", ["os.fork()", "ctypes.CDLL(None).fork()", "ctypes.CDLL(None).vfork()"])
def test_01_fork_bomb(fire, fork):
    fire(body(f"while {fork} >= 0: pass\nraise OSError"), "WA", "RE")


def test_01_fork_bomb_at_import(fire):
    fire("import os\nwhile True: os.fork()", "RE")


def test_02_thread_bomb(fire):
    attack = "import threading\nwhile True: threading.Thread(target=time.sleep, args=(99,)).start()"
    shot = fire(body(attack), "WA", "RE", "TLE")
    assert shot.verdict != "TLE" or shot.seconds < 4


def test_03_tensor_memory_bomb(fire):
    shot = fire(body("k = []\nwhile True: k.append(torch.ones(1 << 22))"), "MLE", limits=PATIENT)
    assert shot.detail["limit"] == "memory"


def test_03_one_giant_tensor(fire):
    fire(body("return torch.ones(1 << 45)"), "MLE", limits=PATIENT)


def test_04_bytes_bomb(fire):
    fire(body("k = []\nwhile True: k.append(b'x' * (1 << 20))"), "MLE", limits=PATIENT)


def test_04_one_giant_list(fire):
    fire(body("return [0] * 10**11"), "MLE", limits=PATIENT)


def test_04_memory_eaten_in_a_catch(fire):
    attack = "k = []\nwhile True:\n    try: k.append(bytearray(1 << 22))\n    except BaseException: pass"
    fire(body(attack), "MLE", "TLE", limits=PATIENT)


def test_05_endless_loop(fire):
    shot = fire(body("while True: pass"), "TLE")
    assert shot.detail["limit"] in ("cpu", "wall")


def test_05_endless_loop_at_import(fire):
    fire("while True: pass", "TLE")


def test_06_sleep(fire):
    shot = fire(body("time.sleep(1e6)"), "TLE")
    assert shot.detail["limit"] == "wall"


def test_07_ignores_signals_and_loops(fire):
    attack = """
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
try: signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
except (OSError, ValueError): pass
while True: pass"""
    fire(body(attack), "TLE")


def test_07_catches_everything_and_loops(fire):
    fire(body("while True:\n    try:\n        while True: pass\n    except BaseException: pass"), "TLE")


def test_08_stops_itself(fire):
    attack = "ctypes.CDLL(None).syscall(234, os.getpid(), os.getpid(), 19)\nwhile True: time.sleep(1)"
    fire(body(attack), "TLE")


def test_09_long_call_without_the_interpreter(fire):
    fire(body("a = torch.rand(2500, 2500)\nwhile True: a = a @ a"), "TLE", "MLE")


def test_10_stdout_flood(fire):
    shot = fire(body("while True: os.write(1, b'A' * 65536)"), "OLE")
    assert shot.detail["limit"] == "stdout" and len(shot.stdout) <= 64 << 10


def test_10_stderr_flood_by_print(fire):
    fire(body("while True: print('A' * 1000, file=sys.stderr)"), "OLE")


def test_11_result_flood(fire):
    shot = fire(body("while True: os.write(3, b'\\x10\\0\\0\\0' + b'A' * 16)"), "PE", "OLE")
    assert shot.verdict == "PE"


def test_11_flood_of_right_frames(fire):
    attack = """
io = sys._getframe(2).f_locals["io"]
while True: io.emit(1)"""
    shot = fire(body(attack), "OLE")
    assert shot.detail["limit"] == "frames"


def test_11_flood_of_large_frames(fire):
    attack = """
io = sys._getframe(2).f_locals["io"]
text = [b"x".decode() * 60000] * 15
while True: io.emit(text)"""
    shot = fire(body(attack), "OLE")
    assert shot.detail["limit"] == "results"


def test_15_hang_in_del(fire):
    attack = (
        "class D:\n    def __del__(self):\n        while True: time.sleep(1)\nD()\nreturn torch.cumsum(x, 0)"
    )
    fire(body(attack), "TLE")


def test_16_atexit_hang_and_leftover_thread(fire):
    attack = """
import atexit, threading
atexit.register(time.sleep, 1e6)
if threading.active_count() == 1: threading.Thread(target=time.sleep, args=(1e6,)).start()
return torch.cumsum(x, 0)"""
    fire(body(attack), "AC", accepted=True)


def test_17_huge_recursion(fire):
    fire(body("sys.setrecursionlimit(10**9)\ndef f(n): return f(n + 1) + 1\nreturn f(0)"), "RE", "MLE", "TLE")


def test_17_deep_source(fire):
    fire("prefix_sum = " + "(" * 60000 + ")" * 60000, "CE", "RE")


def test_19_disk_fill(fire):
    attack = "with open('/box/fill', 'wb') as f:\n    while True: f.write(b'0' * (1 << 20))"
    fire(body(attack), "WA", "RE", "MLE")


def test_19_disk_fill_by_many_files(fire):
    attack = "for n in range(100):\n    with open(f'/box/{n}', 'wb') as f: f.write(b'0' * (4 << 20))"
    fire(body(attack), "WA", "RE", "MLE")


def test_20_inode_fill(fire):
    fire(body("for n in range(10**6): open(f'/box/{n}', 'w').close()"), "WA", "RE")


@pytest.mark.parametrize("place", ["/dev/shm/x", "/dev/x", "/tmp/x", "/x", "/dev/null/x"])
def test_21_fill_elsewhere(fire, place):
    fire(body(f"open({place!r}, 'wb').write(b'0' * (1 << 30))"), "WA", "RE")


def test_22_descriptor_exhaustion(fire):
    fire(body("k = []\nwhile True: k.append(open('/dev/null'))"), "WA", "RE")


def test_22_pipe_exhaustion(fire):
    fire(body("k = []\nwhile True: k.append(os.pipe())"), "WA", "RE")


def test_a_wall_limit_holds_for_a_box_that_does_not_read(fire):
    """The judge must not block while it writes to a box that takes nothing in."""
    shot = fire("import time\ntime.sleep(1e6)", "TLE", limits=Limits(cpu_s=1, wall_s=0.5))
    assert shot.detail["limit"] == "wall"
