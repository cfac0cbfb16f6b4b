"""The worker with the real judge: one pool of boxes, shared by the worker's threads."""

from __future__ import annotations

from collections.abc import Callable

from judge.exercises import Exercise, load_exercises
from judge.run import judge_submission
from judge.sandbox import Pool
from judge.service import log
from judge.service.settings import Settings
from judge.service.worker import NO_ISOLATION, run_worker
from judge.types import Event, RunResult


def judging(settings: Settings, *, name: str | None, watch_parent: bool) -> int:
    """Judge until told to end; returns the exit status. Refuses where isolation is missing and not waived."""
    with Pool(isolation="auto", slots=settings.threads, spare=True) as pool:
        isolation = pool.isolation
        if isolation.startswith("weak") and not settings.accept_weak_isolation:
            log.warning("isolation.missing")
            return NO_ISOLATION

        def judge(
            exercise: Exercise,
            source: bytes,
            *,
            seed: bytes,
            samples_only: bool,
            on_event: Callable[[Event], None],
        ) -> RunResult:
            return judge_submission(
                exercise, source, pool=pool, samples_only=samples_only, seed=seed, on_event=on_event
            )

        run_worker(
            settings, judge, load_exercises(), isolation=isolation, name=name, watch_parent=watch_parent
        )
    return 0
