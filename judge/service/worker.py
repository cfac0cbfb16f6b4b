"""The worker process: takes runs off the queue, keeps their leases, brings lost ones back."""

from __future__ import annotations

import gc
import math
import os
import signal
import threading
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from judge.exercises import Exercise
from judge.service import log
from judge.service.db import open_engine
from judge.service.judging import Bench, Judge, Leases, fault_of
from judge.service.queue import JudgeQueue
from judge.service.settings import Settings, server_key
from judge.service.store import Store

NO_ISOLATION = 3
"""Exit status of a worker that found no isolation and was not told to do without."""


def open_store(settings: Settings) -> Store:
    """The store of a service whose tables are up to date."""
    return Store(
        open_engine(settings.database),
        key=server_key(settings.var),
        lease_s=settings.lease_s,
        max_attempts=settings.max_attempts,
    )


class Worker:
    """Consumer threads, the lease keeper and the reaper of one process."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        judge: Judge,
        exercises: Mapping[int, Exercise],
        *,
        isolation: str,
        name: str | None = None,
    ) -> None:
        self.name = name or uuid.uuid4().hex
        self._settings, self._store, self._isolation = settings, store, isolation
        self._leases = Leases(store, settings.heartbeat_s)
        self._queue = JudgeQueue(settings.queue_file, self._handle)
        self._bench = Bench(
            store, judge, exercises, worker=self.name, leases=self._leases, enqueue=self._queue.enqueue
        )
        self._consumer = self._queue.consumer(settings.threads)
        self._stop = threading.Event()
        self._keepers = [
            threading.Thread(target=self._every, args=(settings.heartbeat_s, self.beat), daemon=True),
            threading.Thread(target=self._every, args=(settings.reap_s, self.reap), daemon=True),
        ]

    def _handle(self, run_id: int) -> None:
        self._bench.handle(run_id)

    def start(self) -> None:
        """Report to the database, bring lost runs back, begin to judge."""
        self.beat()
        self.reap()
        self._consumer.start()
        for keeper in self._keepers:
            keeper.start()
        log.event(
            "worker.started",
            worker=self.name,
            pid=os.getpid(),
            threads=self._settings.threads,
            isolation=self._isolation,
        )

    def beat(self) -> None:
        """Say that this worker lives, and renew what it holds."""
        self._store.report_worker(self.name, os.getpid(), self._isolation)
        self._leases.renew_all()

    def reap(self) -> None:
        """Put runs of dead workers, and runs that the queue lost, back into the queue.

        Its own leases come first: after this machine slept they have expired, though their runs go on.
        """
        self._leases.renew_all()
        lost_after = self._settings.enqueue_again_s if len(self._queue) == 0 else math.inf
        for run_id in self._store.reap(fault_of, lost_after_s=lost_after):
            log.event("run.enqueued_again", run=run_id)
            self._queue.enqueue(run_id)

    def _every(self, seconds: float, act: Callable[[], None]) -> None:
        while not self._stop.wait(seconds):
            try:
                act()
            except Exception:  # a busy database: the next round tries again
                log.fault("worker.keeper")

    def stop(self) -> None:
        """Finish the runs at hand (their leases are kept meanwhile), leave the others in the queue."""
        self._consumer.stop(graceful=True)
        self._stop.set()
        for keeper in self._keepers:
            if keeper.is_alive():
                keeper.join()
        try:
            self._store.drop_worker(self.name)
        except SQLAlchemyError:  # no result depends on it
            log.fault("worker.not_dropped")
        log.event("worker.stopped", worker=self.name)


def run_worker(
    settings: Settings,
    judge: Judge,
    exercises: Mapping[int, Exercise],
    *,
    isolation: str,
    name: str | None = None,
    watch_parent: bool = False,
) -> None:
    """Judge until SIGTERM or SIGINT, then drain. The second signal ends at once.

    `watch_parent`: standard input is a pipe that the server holds; when it closes, the server is gone.
    """
    ended = threading.Event()

    def on_signal(_number: int, _frame: Any) -> None:
        if ended.is_set():
            os._exit(130)
        ended.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    if watch_parent:
        threading.Thread(target=_wait_for_end_of_input, args=(ended,), daemon=True).start()
    worker = Worker(settings, open_store(settings), judge, exercises, isolation=isolation, name=name)
    gc.collect()
    gc.freeze()  # what is loaded by now stays: no collection during a submission need look at it
    worker.start()
    ended.wait()
    worker.stop()


def _wait_for_end_of_input(ended: threading.Event) -> None:
    # not sys.stdin: a thread that waits in a buffered read breaks the interpreter's shutdown
    while os.read(0, 1):
        pass
    ended.set()
