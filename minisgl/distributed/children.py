"""The processes of ranks 1, 2, ...: rank 0 starts them, hears how far they are, and learns how they end."""

from __future__ import annotations

import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe, connection
from multiprocessing.connection import Connection

from .worker import PROGRAM, Report, Start

GRACE_S = 5.0  # within this time, whoever has lost contact learns from whom and why


class RankError(RuntimeError):
    """A rank has failed. The message says which and why; its traceback there is this error's cause."""


class _RemoteTraceback(Exception):
    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


class RankProcesses:
    """Starts a process for each rank but the first, and watches over them in a thread.

    They are fresh interpreters and not made by `multiprocessing`, which would import the asking program in
    each of them: a program, a notebook or a line of `python -c` then needs no precautions.

    Args:
        starts: what each rank is told, by rank.
        on_failure: called in the thread when a rank has failed; the others have been killed then.
    """

    def __init__(self, starts: dict[int, Start], on_failure: Callable[[RankError], None]) -> None:
        self.changed = threading.Condition()  # notified of each change of what follows
        self.failure: RankError | None = None  # the first one
        self.states: dict[int, str] = {}  # as the ranks report
        self._on_failure = on_failure
        self._stopped = False
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._reports: dict[Connection, int] = {}
        try:
            for rank, start in starts.items():
                self._start(rank, start)
        except BaseException:
            self.stop()
            raise
        threading.Thread(target=self._watch, daemon=True, name="rank watch").start()

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in self._processes.values()]

    def check(self) -> None:
        """RankError when a rank has failed."""
        if self.failure is not None:
            raise self.failure

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that is notified of by `changed`. RankError when a rank fails instead."""
        with self.changed:
            self.changed.wait_for(lambda: self.failure is not None or condition())
        self.check()

    def wait_for_state(self, state: str) -> None:
        """Wait until all ranks are that far. RankError when one fails instead."""
        self.wait_until(lambda: all(self.states.get(rank) == state for rank in self._processes))

    def stop(self) -> None:
        """End all processes. From now on none of them can fail."""
        with self.changed:
            self._stopped = True
        self._kill()
        for process in self._processes.values():
            process.wait()
            assert process.stdin is not None
            with suppress(BrokenPipeError):
                process.stdin.close()

    def _kill(self) -> None:
        for process in self._processes.values():
            process.kill()

    def _start(self, rank: int, start: Start) -> None:
        told = pickle.dumps(sys.path) + pickle.dumps(start)
        receiving, sending = Pipe(duplex=False)
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(sending.fileno())],
            stdin=subprocess.PIPE,
            pass_fds=(sending.fileno(),),
            process_group=0,  # one of its own: Ctrl-C is rank 0's to handle
        )
        sending.close()  # the process has the only one left: when it ends, the pipe does
        self._processes[rank], self._reports[receiving] = process, rank
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended already, as the pipe will say
            process.stdin.write(told)
            process.stdin.flush()

    def _watch(self) -> None:
        """Wait for what the ranks report, and for their ends."""
        follower: RankError | None = None  # from a rank that has only noticed that another one is gone
        while self._reports:
            readable = connection.wait(list(self._reports), GRACE_S if follower else None)
            for conn in readable:
                assert isinstance(conn, Connection)
                rank = self._reports[conn]
                report = self._read(conn, rank)
                if not report.error:
                    with self.changed:
                        self.states[rank] = report.state
                        self.changed.notify_all()
                    continue
                del self._reports[conn]
                error = RankError(f"rank {rank} of {len(self._processes) + 1} {report.error}")
                error.__cause__ = _RemoteTraceback(report.traceback) if report.traceback else None
                if not report.lost_contact:
                    self._fail(error)
                    return
                follower = follower or error
            if not readable:
                break
        if follower is not None:
            self._fail(follower)

    def _read(self, conn: Connection, rank: int) -> Report:
        try:
            report: Report = conn.recv()
        except (EOFError, OSError):
            return Report(error=self._end_of(rank))
        return report

    def _end_of(self, rank: int) -> str:
        """How a process has ended that did not say why."""
        code = self._processes[rank].wait()
        if code < 0:
            name = signal.Signals(-code).name
            return f"was killed by {name}" + (", as when memory runs out" if name == "SIGKILL" else "")
        return f"ended with exit code {code}, without a word"

    def _fail(self, failure: RankError) -> None:
        with self.changed:
            if self._stopped:
                return
            self.failure = failure
            self.changed.notify_all()
        self._kill()
        self._on_failure(failure)
