"""One run: from its claim to its result, with progress on the way."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from judge.exercises import Exercise
from judge.i18n import both
from judge.service import log
from judge.service.store import Claim, Fault, Store
from judge.types import Event, RunResult, Verdict

_FLUSH_S = 0.08
_MOST_EVENTS = 5000
"""A run writes no more progress than this; its result comes whatever happened before."""


class Judge(Protocol):
    """What the worker asks of the judge: never raises for anything that the learner did."""

    def __call__(
        self,
        exercise: Exercise,
        source: bytes,
        *,
        seed: bytes,
        samples_only: bool,
        on_event: Callable[[Event], None],
    ) -> RunResult: ...


class Lost(Exception):
    """The lease went to another worker; whatever this one finds out is void."""


class Progress:
    """Writes events of a run in groups, so that generated tokens do not cost a transaction each."""

    def __init__(self, store: Store, claim: Claim, clock: Callable[[], float] = time.monotonic) -> None:
        self._store, self._claim, self._clock = store, claim, clock
        self._kept: list[tuple[str, dict[str, Any]]] = []
        self._written = 0
        self._flushed = clock()

    def __call__(self, event: Event) -> None:
        """Take one event. The store writes `queued`, `running` and `verdict` itself. Raises Lost."""
        if event.type in ("queued", "running", "verdict") or self._written >= _MOST_EVENTS:
            return
        self._written += 1
        self._kept.append((event.type, dict(event.data)))
        if event.type != "token" or self._clock() - self._flushed >= _FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Write what is kept. Raises Lost when the claim is void."""
        kept, self._kept, self._flushed = self._kept, [], self._clock()
        if kept and not self._store.progress(self._claim, kept):
            raise Lost


class Leases:
    """Renews the leases of all runs that this process judges, from one thread."""

    def __init__(self, store: Store, every_s: float) -> None:
        self._store, self._every_s = store, every_s
        self._held: dict[str, Claim] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            return len(self._held)

    def hold(self, claim: Claim) -> None:
        with self._lock:
            self._held[claim.token] = claim

    def drop(self, claim: Claim) -> None:
        with self._lock:
            self._held.pop(claim.token, None)

    def renew_all(self) -> None:
        """One round; a claim that is lost is forgotten here and found out at its next write."""
        with self._lock:
            held = list(self._held.values())
        for claim in held:
            if not self._store.renew(claim):
                self.drop(claim)


def fault_of(exercise: int, slug: str) -> Fault:
    """The result of a run that the judge could not finish: ours, and nothing is counted."""
    result = RunResult(
        exercise=exercise, slug=slug, verdict=Verdict.SE, score=0.0, message=both("service.fault_final")
    )
    return Fault(Verdict.SE.value, 0.0, result.to_json())


class Bench:
    """Judges runs by id: what a queue consumer calls, from several threads at once."""

    def __init__(
        self,
        store: Store,
        judge: Judge,
        exercises: Mapping[int, Exercise],
        *,
        worker: str,
        leases: Leases,
        enqueue: Callable[[int], None],
    ) -> None:
        self._store, self._judge, self._exercises = store, judge, exercises
        self._worker, self._leases, self._enqueue = worker, leases, enqueue

    def handle(self, run_id: int) -> None:
        """Judge the run unless it is done or held by another worker."""
        claim = self._store.claim(run_id, self._worker)
        if claim is None:
            return
        self._leases.hold(claim)
        try:
            self._judge_claim(claim)
        finally:
            self._leases.drop(claim)

    def _judge_claim(self, claim: Claim) -> None:
        began = time.monotonic()
        log.event("run.started", run=claim.run_id, exercise=claim.exercise, attempt=claim.attempt)
        progress = Progress(self._store, claim)
        try:
            result = self._judge(
                self._exercises[claim.exercise],
                claim.source,
                seed=claim.seed,
                samples_only=claim.samples_only,
                on_event=progress,
            )
            progress.flush()
        except Lost:
            log.warning("run.lost", run=claim.run_id, attempt=claim.attempt)
            return
        except Exception:  # a defect of ours: the run must not stay without an answer
            log.fault("run.failed", run=claim.run_id, attempt=claim.attempt)
            self._again(claim, fault_of(claim.exercise, claim.slug))
            return
        outcome = Fault(result.verdict.value, result.score, result.to_json(trace=True))
        if result.verdict is Verdict.SE:
            log.warning("run.fault", run=claim.run_id, attempt=claim.attempt, message=result.message)
            self._again(claim, fault_of(claim.exercise, claim.slug))
            return
        done = self._store.finish(claim, outcome.verdict, outcome.score, outcome.result)
        log.event(
            "run.done" if done else "run.lost",
            run=claim.run_id,
            verdict=outcome.verdict,
            attempt=claim.attempt,
            seconds=round(time.monotonic() - began, 3),
        )

    def _again(self, claim: Claim, fault: Fault) -> None:
        if self._store.give_back(claim, fault):
            self._enqueue(claim.run_id)
