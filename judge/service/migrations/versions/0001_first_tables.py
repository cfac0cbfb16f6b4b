"""The first tables: learners, submissions, runs, events, workers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "users",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(80), nullable=False, unique=True),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
    )
    op.create_table(
        "submissions",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("user_id", sa.Integer, sa.ForeignKey("users.id"), nullable=False),
        sa.Column("exercise", sa.Integer, nullable=False),
        sa.Column("slug", sa.String(80), nullable=False),
        sa.Column("source", sa.LargeBinary, nullable=False),
        sa.Column("samples_only", sa.Boolean, nullable=False),
        sa.Column("key", sa.String(80)),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.UniqueConstraint("user_id", "key", name="uq_submissions_user_key"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_submissions_user_exercise", "submissions", ["user_id", "exercise", "id"])
    op.create_index("ix_submissions_user_created", "submissions", ["user_id", "created_at"])
    op.create_table(
        "runs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("submission_id", sa.Integer, sa.ForeignKey("submissions.id"), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("enqueued_at", sa.Float, nullable=False),
        sa.Column("worker", sa.String(40)),
        sa.Column("claim", sa.String(40)),
        sa.Column("lease_until", sa.Float),
        sa.Column("heartbeat", sa.Float),
        sa.Column("started_at", sa.Float),
        sa.Column("finished_at", sa.Float),
        sa.Column("seed", sa.String(64)),
        sa.Column("verdict", sa.String(4)),
        sa.Column("score", sa.Float),
        sa.Column("result", sa.JSON),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_runs_submission_id", "runs", ["submission_id"])
    op.create_index("ix_runs_status", "runs", ["status", "lease_until"])
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("submission_id", sa.Integer, sa.ForeignKey("submissions.id"), nullable=False),
        sa.Column("run_id", sa.Integer, sa.ForeignKey("runs.id"), nullable=False),
        sa.Column("type", sa.String(16), nullable=False),
        sa.Column("data", sa.JSON, nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_events_submission", "events", ["submission_id", "id"])
    op.create_table(
        "workers",
        sa.Column("id", sa.String(40), primary_key=True),
        sa.Column("pid", sa.Integer, nullable=False),
        sa.Column("isolation", sa.String(80), nullable=False),
        sa.Column("started_at", sa.Float, nullable=False),
        sa.Column("heartbeat", sa.Float, nullable=False),
    )


def downgrade() -> None:
    for table in ("workers", "events", "runs", "submissions", "users"):
        op.drop_table(table)
