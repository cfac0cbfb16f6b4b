"""Exactly one result for each submission, whatever dies on the way."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from course import wait_for

from judge.service import db
from judge.service.db import migrate, open_engine
from judge.service.judging import fault_of
from judge.service.store import Fault, Store

DONE = Fault("AC", 1.0, {"verdict": "AC", "trace": []})


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Any, clock: Clock) -> Store:
    engine = open_engine(f"sqlite:///{tmp_path / 'x.sqlite3'}")
    migrate(engine)
    migrate(engine)  # a second start changes nothing
    return Store(engine, key=b"k" * 32, lease_s=30, max_attempts=3, clock=clock)


def submit(store: Store) -> Any:
    view, new = store.submit(store.local_learner(), 176, "double", b"pass", samples_only=False, key=None)
    assert new
    return view


def types(store: Store, view: Any) -> list[str]:
    return [event.type for event in store.events(view.id)]


def test_a_run_is_claimed_once(store: Store) -> None:
    view = submit(store)
    with ThreadPoolExecutor(8) as pool:
        claims = list(pool.map(lambda n: store.claim(view.run_id, f"w{n}"), range(8)))
    assert sum(claim is not None for claim in claims) == 1
    assert store.claim(12345, "w") is None


def test_an_expired_lease_brings_the_run_back_and_voids_the_old_claim(store: Store, clock: Clock) -> None:
    view = submit(store)
    first = store.claim(view.run_id, "w1")
    assert first is not None
    assert store.reap(fault_of, lost_after_s=1e9) == []
    clock.now += 31
    assert store.reap(fault_of, lost_after_s=1e9) == [view.run_id]
    assert store.progress(first, [("group", {})]) is False
    assert store.finish(first, "AC", 1.0, {"verdict": "AC"}) is False

    second = store.claim(view.run_id, "w2")
    assert second is not None and second.attempt == 2
    assert second.seed != first.seed
    assert store.renew(first) is False and store.renew(second) is True
    assert store.finish(second, "WA", 0.5, {"verdict": "WA"}) is True
    assert store.finish(second, "AC", 1.0, {"verdict": "AC"}) is False
    assert store.claim(view.run_id, "w3") is None
    assert types(store, view) == ["queued", "running", "queued", "running", "verdict"]
    assert store.events(view.id)[2].data == {"attempt": 2, "place": 1, "again": True}
    done = store.submission(view.user_id, view.id)
    assert done is not None and (done.verdict, done.score) == ("WA", 0.5)


def test_renewing_keeps_a_long_run(store: Store, clock: Clock) -> None:
    view = submit(store)
    claim = store.claim(view.run_id, "w")
    assert claim is not None
    for _ in range(10):
        clock.now += 20
        assert store.renew(claim)
        assert store.reap(fault_of, lost_after_s=1e9) == []
    assert store.finish(claim, "AC", 1.0, DONE.result)


def test_a_run_that_kills_every_worker_ends_as_our_fault(store: Store, clock: Clock) -> None:
    view = submit(store)
    for attempt in (1, 2, 3):
        claim = store.claim(view.run_id, "w")
        assert claim is not None and claim.attempt == attempt
        clock.now += 31
        assert store.reap(fault_of, lost_after_s=1e9) == ([view.run_id] if attempt < 3 else [])
    done = store.submission(view.user_id, view.id)
    assert done is not None and done.result is not None
    assert (done.status, done.verdict, done.result["verdict"]) == ("done", "SE", "SE")
    assert "我们的问题" in done.result["message"]["zh"] and "our fault" in done.result["message"]["en"]
    assert store.standing(view.user_id) == {}, "our fault is not the learner's attempt"


def test_what_the_queue_lost_is_put_in_again(store: Store, clock: Clock) -> None:
    view = submit(store)
    assert store.reap(fault_of, lost_after_s=20) == []
    clock.now += 21
    assert store.reap(fault_of, lost_after_s=20) == [view.run_id]
    assert store.reap(fault_of, lost_after_s=20) == [], "not at every round"


def test_a_dropped_worker_loses_its_leases_at_once(store: Store) -> None:
    view, other = submit(store), submit(store)
    store.report_worker("w1", 1, "weak")
    held = store.claim(view.run_id, "w1")
    assert held and store.claim(other.run_id, "w2")
    store.drop_worker("w1")
    assert store.renew(held) is False, "if it lives on after all, it writes nothing"
    assert store.reap(fault_of, lost_after_s=1e9) == [view.run_id]
    assert store.isolation(60) is None


def test_weak_isolation_of_any_worker_is_what_counts(store: Store, clock: Clock) -> None:
    store.report_worker("w1", 1, "namespaces+cgroup2+seccomp")
    store.report_worker("w2", 2, "weak")
    assert store.isolation(20) == "weak"
    clock.now += 30
    store.report_worker("w1", 1, "namespaces+cgroup2+seccomp")
    assert store.isolation(20) == "namespaces+cgroup2+seccomp"


def test_a_defect_of_the_judge_is_tried_again_and_then_our_fault(service: Any) -> None:
    for order in ("crash", "fault"):
        made = service.submit(order).json()
        done = service.result(made["id"])
        assert (done["verdict"], done["attempt"], done["score"]) == ("SE", 3, 0.0)
        kinds = [event["event"] for event in service.events(made["id"])]
        assert kinds.count("running") == 3 and kinds.count("verdict") == 1
        assert "Traceback" not in str(done["result"])
    assert service.client.get("/api/v1/exercises/176").json()["state"] == "untouched"


def test_a_queue_that_loses_everything_loses_nothing(make_service: Any, settings: Any) -> None:
    service = make_service(settings)
    made = service.submit("pass").json()
    for file in settings.var.glob("queue.sqlite3*"):
        file.unlink()
    service.start_worker(enqueue_again_s=0.0)
    assert service.result(made["id"])["verdict"] == "AC"


def test_a_new_worker_takes_over_what_an_old_one_held(idle: Any) -> None:
    """A worker that lost its lease (it was stopped, its machine slept) writes nothing any more."""
    old = idle.start_worker(heartbeat_s=1000.0)
    made = idle.submit("hold").json()
    wait_for(lambda: (idle.folder / "started-1").exists(), "the first attempt")
    idle.store.drop_worker(old.name)
    idle.start_worker()
    wait_for(lambda: (idle.folder / "started-2").exists(), "the second attempt")
    (idle.folder / "go").touch()
    done = idle.result(made["id"])
    assert (done["verdict"], done["attempt"]) == ("AC", 2)
    for worker in idle.workers:
        worker.stop()
    idle.workers.clear()
    kinds = [event["event"] for event in idle.events(made["id"])]
    assert kinds.count("verdict") == 1 and kinds.count("token") == 3


def test_stopping_drains(idle: Any) -> None:
    worker = idle.start_worker(threads=1)
    at_hand = idle.submit("hold").json()
    waiting = idle.submit("pass").json()
    wait_for(lambda: (idle.folder / "started-1").exists(), "the run")
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    (idle.folder / "go").touch()
    stopping.join(30)
    idle.workers.clear()
    status = {
        one["id"]: one["status"] for one in idle.client.get("/api/v1/submissions").json()["submissions"]
    }
    assert status == {at_hand["id"]: "done", waiting["id"]: "queued"}
    idle.start_worker()
    assert idle.result(waiting["id"])["verdict"] == "AC"


def test_a_restart_keeps_everything(make_service: Any, settings: Any) -> None:
    first = make_service(settings)
    first.start_worker()
    judged = first.submit("wrong").json()
    first.result(judged["id"])
    for worker in first.workers:
        worker.stop()
    first.workers.clear()
    waiting = first.submit("pass").json()

    second = make_service(dataclasses.replace(settings))
    assert second.client.get(f"/api/v1/submissions/{judged['id']}").json()["verdict"] == "WA"
    second.start_worker()
    assert second.result(waiting["id"])["verdict"] == "AC"


def test_a_clock_that_jumps(store: Store, clock: Clock) -> None:
    """Back by a day: what a dead worker held, and what the queue lost, does not wait for that day."""
    held, lost = submit(store), submit(store)
    assert store.claim(held.run_id, "w1") is not None
    clock.now -= 86400
    assert store.reap(fault_of, lost_after_s=20) == [held.run_id, lost.run_id]
    assert store.reap(fault_of, lost_after_s=20) == []
    loads: list[Any] = []
    store.submit(
        held.user_id,
        176,
        "double",
        b"pass",
        samples_only=False,
        key=None,
        admit=lambda load: loads.append(load),
    )
    assert (loads[0].unfinished, loads[0].recent) == (2, []), "nobody waits for a time that was put back"


def test_a_machine_that_slept_goes_on_with_its_run(make_service: Any, settings: Any) -> None:
    """Its leases have expired, but the worker that holds them is there: it does not begin anew."""
    service = make_service(settings)
    worker = service.start_worker(heartbeat_s=1000.0, reap_s=1000.0)
    made = service.submit("hold").json()
    wait_for(lambda: (service.folder / "started-1").exists(), "the run")
    clock = worker._store.clock
    worker._store.clock = lambda: clock() + 3600
    worker.reap()
    (service.folder / "go").touch()
    done = service.result(made["id"])
    assert (done["verdict"], done["attempt"]) == ("AC", 1)


def test_thirty_at_once_get_one_result_each_and_no_more_than_the_share(
    make_service: Any, settings: Any
) -> None:
    service = make_service(settings)
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda n: service.submit("pass", key=f"key-{n % 15}"), range(30)))
    assert {answer.status_code for answer in answers} <= {200, 201, 429}
    made = {answer.json()["id"] for answer in answers if answer.status_code != 429}
    assert len(made) == settings.unfinished, "two at once cannot both be the last one allowed"
    refused = [answer for answer in answers if answer.status_code == 429]
    assert refused and all(answer.json()["error"]["code"] == "queue_share" for answer in refused)

    # Sent again, a submission that was stored is the same one, whatever the limit says.
    key = next(json.loads(one.request.content)["key"] for one in answers if one.status_code == 201)
    assert service.submit("pass", key=key).status_code == 200
    assert service.submit("pass", key="another").status_code == 429

    service.start_worker()
    for one in made:
        assert service.result(one)["verdict"] == "AC"
        kinds = [event["event"] for event in service.events(one)]
        assert kinds.count("verdict") == kinds.count("running") == 1


@pytest.mark.parametrize("how", ["removed", "replaced", "folder"])
def test_a_database_that_goes_away_acknowledges_nothing(idle: Any, how: str) -> None:
    """SQLite would write on into the file without a name, and the submission would be lost."""
    assert idle.submit("pass").status_code == 201
    file = idle.settings.var / "judge.sqlite3"
    if how == "folder":
        idle.settings.var.rename(idle.folder / "elsewhere")
    else:
        for part in idle.settings.var.glob("judge.sqlite3*"):
            part.rename(idle.folder / part.name)
    if how == "replaced":
        file.write_bytes(b"not a database" * 500)
    answer = idle.submit("pass")
    assert answer.status_code == 503 and answer.json()["error"]["code"] == "fault"
    assert int(answer.headers["retry-after"]) > 0
    if how != "removed":
        assert idle.client.get("/readyz").status_code == 503
    page = idle.client.get("/zh/exercises/176/", headers={"accept": "text/html"})
    assert page.status_code == 200, "reading goes on"


def test_a_database_that_stays_locked(make_service: Any, settings: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(db, "BUSY_S", 0.2)
    service = make_service(settings)
    with sqlite3.connect(settings.var / "judge.sqlite3", isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert service.submit("pass").status_code == 503
        assert service.client.get("/zh/").status_code == 200, "reading goes on"
        other.execute("COMMIT")
    assert service.submit("pass").status_code == 201
