"""Reading submissions, runs and events: what the API and the pages show."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, and_, func, select
from sqlalchemy.orm import aliased, sessionmaker

from judge.service.models import Event, Run, Submission, Worker


@dataclass(frozen=True)
class View:
    """A submission with its latest run, as the API shows it."""

    id: int
    user_id: int
    exercise: int
    slug: str
    source: bytes
    samples_only: bool
    created_at: float
    run_id: int
    status: str
    attempts: int
    verdict: str | None
    score: float | None
    finished_at: float | None
    result: dict[str, Any] | None


@dataclass(frozen=True)
class EventRow:
    """One event of a submission; `id` grows."""

    id: int
    type: str
    data: dict[str, Any]


class Reader:
    """All reading of the database. Safe to use from several threads and processes."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self._reading = sessionmaker(engine)
        self.clock = clock

    def submission(self, user_id: int, submission_id: int) -> View | None:
        """A learner's own submission; None for anybody else's."""
        where = and_(Submission.id == submission_id, Submission.user_id == user_id)
        with self._reading() as session:
            row = session.execute(latest().where(where)).first()
            return None if row is None else view_of(*row)

    def submissions(
        self, user_id: int, *, exercise: int | None = None, before: int | None = None, limit: int = 20
    ) -> list[View]:
        """A learner's own submissions, newest first, without runs of the samples."""
        query = latest().where(Submission.user_id == user_id, Submission.samples_only.is_(False))
        if exercise is not None:
            query = query.where(Submission.exercise == exercise)
        if before is not None:
            query = query.where(Submission.id < before)
        with self._reading() as session:
            rows = session.execute(query.order_by(Submission.id.desc()).limit(limit)).all()
            return [view_of(*row) for row in rows]

    def events(self, submission_id: int, after: int = 0, limit: int = 500) -> list[EventRow]:
        """Events of a submission with an id above `after`, in order."""
        query = (
            select(Event)
            .where(Event.submission_id == submission_id, Event.id > after)
            .order_by(Event.id)
            .limit(limit)
        )
        with self._reading() as session:
            return [EventRow(event.id, event.type, event.data) for event in session.scalars(query)]

    def standing(self, user_id: int) -> dict[int, str]:
        """Exercise -> "accepted" or "tried"; what was never judged, or only by our fault, is not there."""
        query = (
            select(Submission.exercise, Run.verdict)
            .join(Run)
            .where(
                Submission.user_id == user_id, Submission.samples_only.is_(False), Run.verdict.is_not(None)
            )
            .distinct()
        )
        standing: dict[int, str] = {}
        with self._reading() as session:
            for exercise, verdict in session.execute(query):
                if verdict == "AC":
                    standing[exercise] = "accepted"
                elif verdict != "SE":
                    standing.setdefault(exercise, "tried")
        return standing

    def counts(self) -> dict[str, int]:
        """Runs by status, and submissions by verdict, for the metrics page."""
        with self._reading() as session:
            statuses = session.execute(select(Run.status, func.count()).group_by(Run.status)).all()
            verdicts = session.execute(
                select(Run.verdict, func.count()).where(Run.verdict.is_not(None)).group_by(Run.verdict)
            ).all()
        return {f"status:{name}": n for name, n in statuses} | {f"verdict:{name}": n for name, n in verdicts}

    def isolation(self, fresh_s: float) -> str | None:
        """How the workers that reported within `fresh_s` isolate; None when there is no worker."""
        query = select(Worker.isolation).where(Worker.heartbeat > self.clock() - fresh_s)
        with self._reading() as session:
            found = sorted(session.scalars(query), key=lambda name: not name.startswith("weak"))
        return found[0] if found else None


def latest() -> Any:
    """Submissions, each with its latest run."""
    other = aliased(Run)
    newest = select(func.max(other.id)).where(other.submission_id == Submission.id).scalar_subquery()
    return select(Submission, Run).join(Run, Run.submission_id == Submission.id).where(Run.id == newest)


def view_of(submission: Submission, run: Run) -> View:
    return View(
        id=submission.id,
        user_id=submission.user_id,
        exercise=submission.exercise,
        slug=submission.slug,
        source=submission.source,
        samples_only=submission.samples_only,
        created_at=submission.created_at,
        run_id=run.id,
        status=run.status,
        attempts=run.attempts,
        verdict=run.verdict,
        score=run.score,
        finished_at=run.finished_at,
        result=run.result,
    )
