"""The tables. Times are Unix seconds, so that SQLite and PostgreSQL hold the same."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, Boolean, Float, ForeignKey, Index, Integer, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship


class Base(DeclarativeBase):
    """What the migrations are compared with."""


class User(Base):
    """A learner. With accounts off there is one, named `local`."""

    __tablename__ = "users"

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(80), unique=True)
    role: Mapped[str] = mapped_column(String(16), default="learner")
    created_at: Mapped[float] = mapped_column(Float)


class Submission(Base):
    """Code as it was handed in. `source` is bytes: PostgreSQL's text refuses NUL."""

    __tablename__ = "submissions"
    __table_args__ = (
        UniqueConstraint("user_id", "key", name="uq_submissions_user_key"),
        Index("ix_submissions_user_exercise", "user_id", "exercise", "id"),
        Index("ix_submissions_user_created", "user_id", "created_at"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id"))
    exercise: Mapped[int] = mapped_column(Integer)
    slug: Mapped[str] = mapped_column(String(80))
    source: Mapped[bytes] = mapped_column(LargeBinary)
    samples_only: Mapped[bool] = mapped_column(Boolean, default=False)
    key: Mapped[str | None] = mapped_column(String(80))
    """The client's own name for this submission: sent again, it is the same submission."""
    created_at: Mapped[float] = mapped_column(Float)
    runs: Mapped[list[Run]] = relationship(back_populates="submission", order_by="Run.id")


class Run(Base):
    """One judging of a submission: the truth about it, whatever the queue says.

    `status` goes queued, running, done; back to queued when a lease expires. `claim` names the attempt that
    holds the lease: only its holder may write events or the result.
    """

    __tablename__ = "runs"
    __table_args__ = (Index("ix_runs_status", "status", "lease_until"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"), index=True)
    status: Mapped[str] = mapped_column(String(16))
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    enqueued_at: Mapped[float] = mapped_column(Float)
    worker: Mapped[str | None] = mapped_column(String(40))
    claim: Mapped[str | None] = mapped_column(String(40))
    lease_until: Mapped[float | None] = mapped_column(Float)
    heartbeat: Mapped[float | None] = mapped_column(Float)
    started_at: Mapped[float | None] = mapped_column(Float)
    finished_at: Mapped[float | None] = mapped_column(Float)
    seed: Mapped[str | None] = mapped_column(String(64))
    verdict: Mapped[str | None] = mapped_column(String(4))
    score: Mapped[float | None] = mapped_column(Float)
    result: Mapped[dict[str, Any] | None] = mapped_column(JSON(none_as_null=True))
    submission: Mapped[Submission] = relationship(back_populates="runs")


class Event(Base):
    """Progress of a submission; `id` grows, so it is the id of the server-sent event too."""

    __tablename__ = "events"
    __table_args__ = (Index("ix_events_submission", "submission_id", "id"), {"sqlite_autoincrement": True})

    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"))
    run_id: Mapped[int] = mapped_column(ForeignKey("runs.id"))
    type: Mapped[str] = mapped_column(String(16))
    data: Mapped[dict[str, Any]] = mapped_column(JSON)
    at: Mapped[float] = mapped_column(Float)


class Worker(Base):
    """A worker process, as it last reported: readiness and the isolation it judges with."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    pid: Mapped[int] = mapped_column(Integer)
    isolation: Mapped[str] = mapped_column(String(80))
    started_at: Mapped[float] = mapped_column(Float)
    heartbeat: Mapped[float] = mapped_column(Float)
