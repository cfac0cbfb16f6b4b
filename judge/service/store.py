"""Submissions, runs and events: every change of their state is one transaction here.

A run is held by one claim at a time. Whoever writes for a run shows its claim, and a claim whose lease went
to somebody else writes nothing: so completion happens exactly once, however often a run is brought back.
"""

from __future__ import annotations

import hashlib
import hmac
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, and_, delete, func, or_, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, sessionmaker

from judge.service.models import Event, Run, Submission, User, Worker
from judge.service.reading import Reader, View, latest, view_of

LOCAL_LEARNER = "local"
_FORGOTTEN_S = 86400.0


@dataclass(frozen=True)
class Claim:
    """The right to judge one run, for as long as its lease is renewed."""

    run_id: int
    submission_id: int
    token: str
    attempt: int
    seed: bytes
    exercise: int
    slug: str
    source: bytes
    samples_only: bool


@dataclass(frozen=True)
class Fault:
    """What a run ends with when the judge itself failed too often: the SE result, as JSON."""

    verdict: str
    score: float
    result: dict[str, Any]


@dataclass(frozen=True)
class Load:
    """What a learner asks of the judge at the moment."""

    now: float
    unfinished: int
    """Runs that wait or run."""
    recent: list[float]
    """When the learner handed in within the last WINDOW_S, oldest first; samples do not count."""


WINDOW_S = 60.0
Admit = Callable[[Load], None]
"""Raises where the learner has to wait; then nothing is stored."""
FaultOf = Callable[[int, str], Fault]
"""(exercise, slug) -> the result of a run that the judge could not finish."""


class Store(Reader):
    """All writing of the database, and the reading. Safe to use from several threads and processes."""

    def __init__(
        self,
        engine: Engine,
        *,
        key: bytes,
        lease_s: float = 30.0,
        max_attempts: int = 3,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(engine, clock)
        self._writing = sessionmaker(engine.execution_options(writes=True))
        self._key = key
        self._lease_s = lease_s
        self._max_attempts = max_attempts

    # --- learners ---------------------------------------------------------------------------

    def local_learner(self) -> int:
        """The id of the one learner of a service without accounts, made on first use."""
        with self._writing.begin() as session:
            found = session.scalar(select(User.id).where(User.name == LOCAL_LEARNER))
            if found is not None:
                return found
            user = User(name=LOCAL_LEARNER, role="learner", created_at=self.clock())
            session.add(user)
            session.flush()
            return user.id

    # --- handing in -------------------------------------------------------------------------

    def submit(
        self,
        user_id: int,
        exercise: int,
        slug: str,
        source: bytes,
        *,
        samples_only: bool,
        key: str | None,
        admit: Admit = lambda load: None,
    ) -> tuple[View, bool]:
        """Store a submission with its run, queued. Returns it, and whether its `key` is new.

        `admit` is asked about a new one, within the transaction: two at once cannot both be the last allowed.
        """
        try:
            with self._writing.begin() as session:
                if (seen := self._by_key(session, user_id, key)) is not None:
                    return seen, False
                session.execute(select(User.id).where(User.id == user_id).with_for_update())
                now = self.clock()
                admit(self._load(session, user_id, now))
                submission = Submission(
                    user_id=user_id,
                    exercise=exercise,
                    slug=slug,
                    source=source,
                    samples_only=samples_only,
                    key=key,
                    created_at=now,
                )
                run = Run(submission=submission, status="queued", attempts=0, enqueued_at=now)
                session.add(run)
                session.flush()
                place = self._waiting(session, run.id)
                session.add(_event(run, "queued", {"attempt": 1, "place": place, "again": False}, now))
                return view_of(submission, run), True
        except IntegrityError:  # the same key at the same moment, on a database without SQLite's one writer
            with self._reading() as session:
                seen = self._by_key(session, user_id, key)
            if seen is None:
                raise
            return seen, False

    @staticmethod
    def _by_key(session: Session, user_id: int, key: str | None) -> View | None:
        if key is None:
            return None
        where = and_(Submission.user_id == user_id, Submission.key == key)
        row = session.execute(latest().where(where)).first()
        return None if row is None else view_of(*row)

    @staticmethod
    def _load(session: Session, user_id: int, now: float) -> Load:
        own = Submission.user_id == user_id
        unfinished = select(func.count()).select_from(Run).join(Submission).where(own, Run.status != "done")
        recent = (
            select(Submission.created_at)
            .where(
                own,
                Submission.samples_only.is_(False),
                Submission.created_at.between(now - WINDOW_S, now),  # not what a clock put back calls later
            )
            .order_by(Submission.created_at)
        )
        return Load(now, session.scalar(unfinished) or 0, list(session.scalars(recent)))

    @staticmethod
    def _waiting(session: Session, run_id: int) -> int:
        ahead = select(func.count()).select_from(Run).where(Run.status == "queued", Run.id < run_id)
        return (session.scalar(ahead) or 0) + 1

    # --- judging ----------------------------------------------------------------------------

    def claim(self, run_id: int, worker: str) -> Claim | None:
        """Take a queued run. None when it is done, or somebody else holds it."""
        now, token = self.clock(), uuid.uuid4().hex
        with self._writing.begin() as session:
            taken = session.execute(
                update(Run)
                .where(Run.id == run_id, Run.status == "queued")
                .values(
                    status="running",
                    claim=token,
                    worker=worker,
                    attempts=Run.attempts + 1,
                    lease_until=now + self._lease_s,
                    heartbeat=now,
                    started_at=now,
                )
            )
            if _rows(taken) != 1:
                return None
            run = session.get_one(Run, run_id, populate_existing=True)
            submission = run.submission
            seed = self._seed(submission.id, run.id, run.attempts)
            run.seed = seed.hex()
            session.add(_event(run, "running", {"attempt": run.attempts}, now))
            return Claim(
                run_id=run.id,
                submission_id=submission.id,
                token=token,
                attempt=run.attempts,
                seed=seed,
                exercise=submission.exercise,
                slug=submission.slug,
                source=submission.source,
                samples_only=submission.samples_only,
            )

    def _seed(self, submission: int, run: int, attempt: int) -> bytes:
        """New inputs for every attempt, which staff can make again and learners cannot foresee."""
        return hmac.new(self._key, f"{submission}:{run}:{attempt}".encode(), hashlib.sha256).digest()

    def renew(self, claim: Claim) -> bool:
        """Prolong the lease. False: the run belongs to somebody else now."""
        with self._writing.begin() as session:
            return self._hold(session, claim)

    def _hold(self, session: Session, claim: Claim, **values: Any) -> bool:
        now = self.clock()
        held = session.execute(
            update(Run)
            .where(Run.id == claim.run_id, Run.claim == claim.token, Run.status == "running")
            .values(heartbeat=now, lease_until=now + self._lease_s, **values)
        )
        return _rows(held) == 1

    def progress(self, claim: Claim, events: Sequence[tuple[str, dict[str, Any]]]) -> bool:
        """Write events of a run, which renews its lease. False and nothing written: the claim is lost."""
        with self._writing.begin() as session:
            if not self._hold(session, claim):
                return False
            now = self.clock()
            session.add_all(
                Event(submission_id=claim.submission_id, run_id=claim.run_id, type=kind, data=data, at=now)
                for kind, data in events
            )
            return True

    def finish(self, claim: Claim, verdict: str, score: float, result: dict[str, Any]) -> bool:
        """Write the one result of a run and its verdict event. False: the claim is lost."""
        with self._writing.begin() as session:
            if not self._hold(session, claim):
                return False
            self._end(session, session.get_one(Run, claim.run_id), Fault(verdict, score, result))
            return True

    def give_back(self, claim: Claim, fault: Fault) -> bool:
        """Queue a run again after our own fault, or end it with `fault` after the last attempt.

        True: it is queued, and the caller puts it into the queue.
        """
        with self._writing.begin() as session:
            if not self._hold(session, claim):
                return False
            return self._again(session, session.get_one(Run, claim.run_id), fault)

    def _again(self, session: Session, run: Run, fault: Fault) -> bool:
        if run.attempts >= self._max_attempts:
            self._end(session, run, fault)
            return False
        now = self.clock()
        run.status, run.claim, run.worker, run.lease_until, run.enqueued_at = "queued", None, None, None, now
        place = self._waiting(session, run.id)
        session.add(_event(run, "queued", {"attempt": run.attempts + 1, "place": place, "again": True}, now))
        return True

    def _end(self, session: Session, run: Run, outcome: Fault) -> None:
        now = self.clock()
        run.status, run.claim, run.lease_until, run.finished_at = "done", None, None, now
        run.verdict, run.score, run.result = outcome.verdict, outcome.score, outcome.result
        # The trace may be long; who draws it asks for it.
        shown = {name: value for name, value in outcome.result.items() if name != "trace"}
        session.add(_event(run, "verdict", {"attempt": run.attempts, "result": shown}, now))

    def reap(self, fault_of: FaultOf, *, lost_after_s: float) -> list[int]:
        """Queue again what a dead worker held and what the queue lost. Returns the run ids to enqueue."""
        now = self.clock()
        with self._writing.begin() as session:
            # A lease that ends later than any can, or a queueing to come: the clock was put back.
            expired = or_(Run.lease_until < now, Run.lease_until > now + 2 * self._lease_s)
            dead = session.scalars(select(Run).where(Run.status == "running", expired)).all()
            again = [run.id for run in dead if self._again(session, run, self._fault(run, fault_of))]
            forgotten = or_(Run.enqueued_at < now - lost_after_s, Run.enqueued_at > now + lost_after_s)
            lost = session.scalars(select(Run).where(Run.status == "queued", forgotten)).all()
            for run in lost:
                run.enqueued_at = now
            return again + [run.id for run in lost]

    @staticmethod
    def _fault(run: Run, fault_of: FaultOf) -> Fault:
        return fault_of(run.submission.exercise, run.submission.slug)

    # --- workers ----------------------------------------------------------------------------

    def report_worker(self, worker: str, pid: int, isolation: str) -> None:
        """Say that a worker is alive, and how it isolates what it judges."""
        now = self.clock()
        with self._writing.begin() as session:
            row = session.get(Worker, worker)
            if row is None:
                session.execute(delete(Worker).where(Worker.heartbeat < now - _FORGOTTEN_S))
                row = Worker(id=worker, pid=pid, isolation=isolation, started_at=now, heartbeat=now)
                session.add(row)
            row.pid, row.isolation, row.heartbeat = pid, isolation, now

    def drop_worker(self, worker: str) -> None:
        """A worker is gone: what it held is nobody's, so the next reaping queues it again."""
        with self._writing.begin() as session:
            session.execute(delete(Worker).where(Worker.id == worker))
            session.execute(
                update(Run)
                .where(Run.worker == worker, Run.status == "running")
                .values(lease_until=0.0, claim=None)
            )


def _event(run: Run, kind: str, data: dict[str, Any], now: float) -> Event:
    submission_id = run.submission_id if run.submission_id is not None else run.submission.id
    return Event(submission_id=submission_id, run_id=run.id, type=kind, data=data, at=now)


def _rows(result: Any) -> int:
    return int(result.rowcount)
