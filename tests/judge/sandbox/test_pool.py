"""Pools: slots, what they fall back on, their end; the host's facts."""

import threading

import pytest

from judge.i18n import LANGS
from judge.sandbox import HostError, Limits, Pool, Stopped, client, doctor, process
from judge.sandbox.limits import Exit
from judge.sandbox.weak import WeakBackend

DOUBLE = b"def double(x):\n    return x * 2\n"


class Refusing:
    """A backend of a host that cannot isolate."""

    def __init__(self, templates):
        self.closed = False

    @property
    def isolation(self):
        raise HostError("unshare: Operation not permitted")

    def close(self):
        self.closed = True


def test_a_pool_says_what_isolates(isolated_pool, weak_pool):
    parts = isolated_pool.isolation.split("+")
    assert parts[0] in ("namespaces", "namespaces(user)") and parts[2] == "seccomp"
    assert parts[1] in ("cgroup1", "cgroup2", "rlimits")
    assert weak_pool.isolation == "weak"


def test_auto_falls_back_on_weak_and_says_why(monkeypatch):
    monkeypatch.setattr("judge.sandbox.host.ZygoteBackend", Refusing)
    with Pool() as pool:
        assert pool.isolation == "weak (unshare: Operation not permitted)"


def test_strict_does_not_fall_back(monkeypatch):
    monkeypatch.setattr("judge.sandbox.host.ZygoteBackend", Refusing)
    with Pool(isolation="strict") as pool, pytest.raises(HostError, match="unshare"):
        pool.isolation


def test_other_systems_are_weak(monkeypatch):
    monkeypatch.setattr(client.sys, "platform", "darwin")
    with Pool() as pool:
        assert pool.isolation == "weak (no isolation on darwin)"


def test_a_closed_pool_gives_no_box(bundle):
    pool = Pool(isolation="weak")
    pool.close()
    with pytest.raises(RuntimeError, match="closed"):
        pool.box(bundle)


def test_boxes_of_many_threads(isolated_pool, bundle):
    """More threads than slots: all get their turn, and each its own answer."""
    answers = {}

    def run(number):
        with isolated_pool.box(bundle, Limits(cpu_s=5, wall_s=60)) as box:
            box.load(DOUBLE, filename="mine.py", target="double")
            (answers[number],) = box.case("def drive(t, c, io): io.emit(t(c['x']))", {"x": number}).emitted
            box.finish()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {number: 2 * number for number in range(12)}


def test_a_slot_comes_back_after_every_end(bundle):
    with Pool(isolation="strict", slots=1) as pool:
        with pool.box(bundle) as box:
            box.load(DOUBLE, filename="mine.py", target="double")
            box.finish()
        with pool.box(bundle) as box, pytest.raises(Stopped):
            box.load(b"", filename="mine.py", target="double")
        with pool.box(bundle) as box:
            box.load(DOUBLE, filename="mine.py", target="double")  # left without an end
        with pool.box(bundle) as box:
            box.load(DOUBLE, filename="mine.py", target="double")
            box.finish()


KILL, XCPU, SEGV, SYS, XFSZ = 9, 24, 11, 31, 25


@pytest.mark.parametrize(
    "ended, verdict, reason",
    [
        (Exit(0, 0.1), "RE", "exit"),
        (Exit(3 << 8, 0.1), "RE", "exit"),
        (Exit(KILL, 2.0), "TLE", "limit"),
        (Exit(XCPU, 2.0), "TLE", "limit"),
        (Exit(KILL, 0.1), "SE", "killed"),
        (Exit(KILL, 0.1, unprotected=True), "RE", "signal"),
        (Exit(KILL, 2.0, unprotected=True), "TLE", "limit"),
        (Exit(KILL, 0.1, 256.0, True), "MLE", "limit"),
        (Exit(KILL, 2.0, 256.0, True), "MLE", "limit"),
        (Exit(SEGV, 0.1), "RE", "crash"),
        (Exit(SYS, 0.1), "RE", "forbidden"),
        (Exit(XFSZ, 0.1), "OLE", "limit"),
        (Exit(15, 0.1), "RE", "signal"),
    ],
)
def test_why_a_process_ended(ended, verdict, reason):
    found, detail = process.explain(ended, Limits(cpu_s=2.0), lost=False)
    assert (found, detail["reason"]) == (verdict, reason)


def test_a_lost_process_is_our_fault_whatever_its_status():
    assert process.explain(Exit(0, 0.1), Limits(), lost=True)[0] == "SE"


def test_doctor_finds_what_pools_find(isolated_pool):
    facts = {fact.key: fact for fact in doctor.examine()}
    assert facts["isolation"].ok and isolated_pool.isolation in facts["isolation"].text["en"]
    assert facts["box"].ok
    assert all(set(fact.text) == set(LANGS) for fact in facts.values())


@pytest.mark.parametrize(
    "why, advice",
    [
        ("OSError: [Errno 1] unshare: Operation not permitted", "user namespaces"),
        ("RuntimeError: Unable to find libseccomp", "apt install libseccomp2"),
        ("something else", "report"),
    ],
)
def test_doctor_says_what_to_do(monkeypatch, why, advice):
    class Backend(Refusing):
        @property
        def isolation(self):
            raise HostError(why)

    monkeypatch.setattr("judge.sandbox.host.ZygoteBackend", Backend)
    monkeypatch.setattr(doctor, "_run", lambda pool, bundle, key: doctor.Fact(key, True, {}))
    facts = {fact.key: fact for fact in doctor.examine()}
    assert not facts["isolation"].ok and facts["weak_box"].ok
    assert why in facts["isolation"].text["zh"] and advice in facts["isolation"].text["en"]


# --- A spare -----------------------------------------------------------------------------------


class Counting:
    """A backend whose boxes are weak ones, counted."""

    isolation = "weak"

    def __init__(self):
        self.inner = WeakBackend()
        self.started = []
        self.made = threading.Event()

    def spawn(self, bundle, limits, slot):
        process = self.inner.spawn(bundle, limits, slot)
        self.started.append((process, limits, slot))
        self.made.set()
        return process

    def close(self):
        self.inner.close()


@pytest.fixture
def sparing():
    backend = Counting()
    with Pool(slots=2, spare=True, backend=lambda: backend) as pool:
        yield pool, backend
    assert all(process.reap(0.0) is not None for process, _, _ in backend.started)


PATIENT = Limits(cpu_s=20)


def use(pool, bundle, limits=PATIENT, **options):
    with pool.box(bundle, limits, **options) as box:
        box.load(DOUBLE, filename="d.py", target="double")
        process = box._process
        box.finish()
    return process


def wait_for_spare(pool):
    with pool._condition:
        assert pool._condition.wait_for(lambda: pool._spare is not None, timeout=30)
    return pool._spare


def test_a_spare_is_what_the_next_one_gets(sparing, bundle):
    pool, backend = sparing
    first = use(pool, bundle, often=True)
    spare = wait_for_spare(pool)
    assert spare.process is not first and len(backend.started) == 2
    assert use(pool, bundle, often=True) is spare.process


def test_a_spare_of_another_kind_or_a_dead_one_ends(sparing, bundle):
    pool, _ = sparing
    use(pool, bundle, often=True)
    other = wait_for_spare(pool).process
    assert use(pool, bundle, Limits(cpu_s=21), often=True) is not other
    assert other.reap(0.0) is not None
    dead = wait_for_spare(pool).process
    dead.kill()
    assert dead.reap(10.0) is not None
    assert use(pool, bundle, Limits(cpu_s=21), often=True) is not dead


def test_a_box_that_is_rare_has_no_spare_and_takes_none(sparing, bundle):
    pool, backend = sparing
    use(pool, bundle)
    assert pool._maker.ident is None
    use(pool, bundle, often=True)
    spare = wait_for_spare(pool).process
    with pool.box(bundle, PATIENT) as one, pool.box(bundle, PATIENT) as two:
        assert len({one._process, two._process, spare}) == 3 and pool._spare is not None
        slots = [slot for process, _, slot in backend.started if process.reap(0.0) is None]
        assert len(slots) == len(set(slots)) == 3
        assert pool.box_if_free(bundle) is None


def test_an_isolated_spare_is_held_until_it_is_needed(bundle):
    with Pool(isolation="strict", slots=1, spare=True) as pool:
        use(pool, bundle, often=True)
        spare = wait_for_spare(pool).process
        assert use(pool, bundle, often=True) is spare
        wait_for_spare(pool)
