"""What happens when the sandbox itself dies: boxes end as our fault, the next one finds a fresh zygote."""

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from arena import HONEST, QUICK, Arena, body, descendants, open_pool

from judge.sandbox import Limits, Stopped, make_bundle

ROOT = Path(__file__).parents[3]
LONG = Limits(cpu_s=20, memory_mb=192, wall_s=30)
BUSY = body("while True: pass")
DRIVE = "def drive(target, case, io):\n    io.call('begun')\n    target(1)\n"


@pytest.fixture
def own(tmp_path):
    """An arena of this test's own, as its zygote is going to die."""
    arena = Arena(tmp_path)
    yield arena
    pids = [os.pidfd_open(pid) for pid in descendants(arena.pool._backend.zygote_pid())]
    made = arena.pool._backend._groups
    arena.pool.close()
    for pid in pids:
        assert select.select([pid], [], [], 60)[0], "a process outlives its pool"
        os.close(pid)
    if made:
        assert not made._memory.exists() and not made._pids.exists()


class Begun:
    """Runs something at the moment that the learner's code is about to run."""

    def __init__(self, act):
        self._act = act

    def begun(self):
        self._act()


def inner(arena):
    """The base zygote, its template, and the processes of boxes."""
    outer = arena.pool._backend.zygote_pid()
    (base,) = children(outer)
    (template,) = children(base)
    return base, template, children(template)


def children(pid):
    return [p for p in descendants(pid) if p != pid and parent(p) == pid]


def parent(pid):
    return int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.parametrize("victim", ["outer", "base", "template"])
def test_54_kill_the_zygote_mid_run(own, victim):
    boxes = []

    def kill():
        base, template, running = inner(own)
        boxes.extend(os.pidfd_open(pid) for pid in running)
        os.kill({"outer": own.zygote, "base": base, "template": template}[victim], signal.SIGKILL)

    with own.pool.box(own.bundle, LONG) as box, pytest.raises(Stopped) as stopped:
        box.load(BUSY.encode(), filename="mine.py", target="prefix_sum")
        box.case(DRIVE, {}, Begun(kill))
    assert stopped.value.verdict == "SE"
    for box in boxes:
        assert select.select([box], [], [], 60)[0], "the box outlives its zygote"
        os.close(box)
    assert own.fire(HONEST).verdict == "AC"
    assert own.fire(BUSY).verdict == "TLE"


def test_54_kill_one_box_from_outside(own):
    """A box killed by the machine, not by a limit, is our fault and not the learner's."""

    def kill():
        (box,) = inner(own)[2]
        os.kill(box, signal.SIGKILL)

    with own.pool.box(own.bundle, LONG) as box, pytest.raises(Stopped) as stopped:
        box.load(BUSY.encode(), filename="mine.py", target="prefix_sum")
        box.case(DRIVE, {}, Begun(kill))
    assert stopped.value.verdict == "SE"
    own.check()


def test_others_go_on_while_one_box_is_stopped(own):
    verdicts = []

    def run(source):
        verdicts.append(own.fire(source, limits=Limits(cpu_s=1, memory_mb=192, wall_s=6)).verdict)

    threads = [threading.Thread(target=run, args=(source,)) for source in [HONEST, BUSY] * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(verdicts) == ["AC"] * 4 + ["TLE"] * 4
    own.check()


def test_templates_are_capped(tmp_path):
    """The least recently used template goes when there are too many; its exercise still runs afterwards."""
    pool = open_pool(templates=2)
    with pool:
        bundles = []
        for name in ("CacheManager.cache_req", "CacheManager.allocate_paged", "CacheManager._free"):
            cut = type(
                "Cut", (), {"target": f"minisgl.scheduler.cache:{name}", "members": [], "also_cut": []}
            )
            bundles.append(make_bundle(cut))
        for bundle in [*bundles, *bundles]:
            with pool.box(bundle, QUICK) as box:
                box.load(HONEST, filename="mine.py", target="prefix_sum")
                box.finish()
            assert len(pool._backend._templates) <= 2


DYING = """
import os, sys
from judge.sandbox import Pool, make_bundle, Limits
pool = Pool(isolation="strict")
box = pool.box(make_bundle(None), Limits(cpu_s=20))
print(pool._backend.zygote_pid(), flush=True)
sys.stdin.read(1)
os.kill(os.getpid(), 9)
"""


def test_a_judge_that_is_killed_leaves_nothing():
    judge = subprocess.Popen(
        [sys.executable, "-c", DYING], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with judge:
        zygote = int(judge.stdout.readline())
        left = [os.pidfd_open(pid) for pid in descendants(zygote)]
        assert len(left) == 4  # outer, base, template, box
        judge.stdin.write("x")
        judge.stdin.close()
        judge.wait()
    for pid in left:
        assert select.select([pid], [], [], 60)[0], "a process outlives its judge"
        os.close(pid)
    open_pool().close()  # cleans up the groups of judges that are no more
    groups = [g for root in Path("/sys/fs/cgroup").iterdir() for g in root.glob(f"judge-{judge.pid}-*")]
    assert groups == []
