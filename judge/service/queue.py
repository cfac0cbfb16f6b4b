"""The queue carries run ids and nothing else; the runs table says what became of each.

huey takes a task off the queue before it runs it, so a consumer that is killed loses it. The reaper then puts
the run in again. A run that is in the queue twice does no harm either: it is claimed once.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from huey import SqliteHuey
from huey.consumer import Consumer
from huey.registry import Message
from huey.serializer import Serializer

_LONGEST_NAP_S = 0.2


class JsonSerializer(Serializer):
    """JSON instead of huey's pickle: a queue file that somebody else wrote cannot run code here."""

    def _serialize(self, data: Message) -> bytes:
        return json.dumps(list(data)).encode()

    def _deserialize(self, data: bytes) -> Message:
        return Message(*json.loads(data))


class JudgeQueue:
    """Runs waiting to be judged, in a SQLite file shared by the server and its workers."""

    def __init__(self, path: Path, handle: Callable[[int], None] | None = None) -> None:
        """`handle` judges the run of the given id; a process that only enqueues leaves it out."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._huey = SqliteHuey(
            "judge", filename=str(path), serializer=JsonSerializer(), results=False, timeout=15
        )

        def judge_run(run_id: int) -> None:
            if handle is None:
                raise RuntimeError("this process takes no runs off the queue")
            handle(run_id)

        self._task: Any = self._huey.task(name="judge_run")(judge_run)

    def enqueue(self, run_id: int, *, first: bool = False) -> None:
        """Put a run in; `first` ones (samples, which are short) go before the others."""
        self._huey.enqueue(self._task.s(run_id, priority=1 if first else 0))

    def __len__(self) -> int:
        return int(self._huey.pending_count())

    def consumer(self, threads: int) -> Consumer:
        """A consumer with its own threads; the caller starts and stops it, and owns the signals."""
        return _Consumer(
            self._huey,
            workers=threads,
            periodic=False,
            initial_delay=0.02,
            backoff=1.3,
            max_delay=_LONGEST_NAP_S,
        )


class _Consumer(Consumer):
    def _set_signal_handlers(self) -> None:
        """The worker process has its own handlers, and tests run a consumer in a thread."""
