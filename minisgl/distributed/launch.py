"""Starts the other ranks of a model, watches over them, and ends all of them when one ends.

Rank 0 is the process that asks: a program with an `LLM`, or the server's scheduler. Ranks 1, 2, ... are its
children and die with it, however it ends. A rank that fails says so to rank 0, which raises that error.

The children are fresh interpreters and not made by `multiprocessing`, which would import the asking program
in each of them: a program, a notebook or a line of `python -c` then needs no precautions.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing import Pipe, connection
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from ..env import ENV
from ..message import BaseBackendMsg
from ..models import load_config, resolve_model
from ..scheduler import Scheduler, SchedulerConfig
from ..scheduler.io import wait_for_subscribers
from ..utils import check_count
from .impl import PeerLostError, break_off, in_group, join_group, leave_group
from .info import DistributedInfo, check_split, rank_device

_WEIGHTS = "weights.pt"
_GRACE_S = 5.0  # within this time, whoever has lost contact learns from whom and why
# A rank's whole program. What it is told comes through its standard input, which stays open: its end means
# that rank 0 has ended.
_PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from minisgl.distributed.launch import rank_main
rank_main(int(sys.argv[1]))
"""

_stuck = False  # whether a thread of this process waits for ever for ranks that have died
_leaving: threading.Thread | None = None  # takes this process out of its last group


class RankError(RuntimeError):
    """A rank has failed. The message says which and why; its traceback there is this error's cause."""


class _RemoteTraceback(Exception):
    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


@dataclass(frozen=True)
class _Start:
    """What a rank is told."""

    config: SchedulerConfig
    folder: Path
    state_dict: Path | None  # of a model in memory
    env: Mapping[str, Any]
    num_threads: int
    initializer: Callable[[], None] | None


@dataclass(frozen=True)
class _Report:
    """What a rank tells: how far it is, or, with an error, that it ends."""

    state: str = ""  # "here": about to meet the others; "ready": its model is loaded
    error: str = ""
    traceback: str = ""
    lost_contact: bool = False


def launch_ranks(
    config: SchedulerConfig,
    size: int,
    *,
    initializer: Callable[[], None] | None = None,
    on_failure: Callable[[RankError], None] | None = None,
) -> RankGroup:
    """Start ranks 1 to `size` - 1 and become rank 0. Returns when all have met; they load their shares then.

    The caller makes `Scheduler(group.config, send_into_ranks=group.queue)`, calls `group.wait_ready()` and
    runs the scheduler, all within `group.guard()`; in the end it calls `group.close()`.

    Args:
        config: of one process; each rank gets its own copy.
        size: number of ranks, this process counted.
        initializer: called in each started process before it does anything else; a function of a module that
            the processes can import.
        on_failure: called in a thread when a rank fails, for a caller that may be waiting for something else
            than the ranks. Others see the error in `check` and `guard`.

    Raises:
        ValueError: the model cannot be shared by so many, or there are too few GPUs.
        FileNotFoundError: there is no such model.
        RankError: a rank has failed.
        RuntimeError: the process has such a group already.
    """
    check_count("tp_size", size)
    if isinstance(config.model, tuple):
        model_config = config.model[0]
    else:
        path = resolve_model(config.model)
        config, model_config = replace(config, model=path), load_config(path)
    check_split(model_config, size)
    if ENV.DISABLE_OVERLAP_SCHEDULING.value:
        config = replace(config, overlap=False)
    if torch.device(config.device).type == "cuda" and torch.cuda.device_count() < size:
        raise ValueError(f"{size} ranks need a GPU each, but torch finds {torch.cuda.device_count()} here")
    if _stuck:
        raise RuntimeError("a rank died while ranks met: torch.distributed is stuck, start a new process")
    if _leaving is not None:
        _leaving.join(2 * _GRACE_S)
    if in_group():
        raise RuntimeError(
            "this process has a model of several ranks already (or uses torch.distributed for something"
            " else): shut that down first"
        )
    return RankGroup(config, size, initializer, on_failure)


class RankGroup:
    """Rank 0's side of a group. Made by `launch_ranks`.

    Attributes:
        config: rank 0's.
        queue: what is put in goes to all other ranks.
    """

    def __init__(
        self,
        config: SchedulerConfig,
        size: int,
        initializer: Callable[[], None] | None,
        on_failure: Callable[[RankError], None] | None,
    ) -> None:
        from ..utils.mp import ZmqPubQueue, private_folder

        self.config = replace(config, tp_info=DistributedInfo(0, size))
        self._device = rank_device(config.device, self.config.tp_info)
        self._on_failure = on_failure
        self._changed = threading.Condition()  # guards what follows
        self._states: dict[int, str] = {}  # of the other ranks, as they report
        self._failure: RankError | None = None
        self._joined = False
        self._closed = False
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._folder = private_folder()
        self.queue = ZmqPubQueue(_address(self._folder), create=True, encoder=BaseBackendMsg.encoder)
        try:
            reports = self._start(config, size, initializer)
            threading.Thread(target=self._watch, args=(reports,), daemon=True, name="rank watch").start()
            self._join()
            wait_for_subscribers(self._next_subscription, size - 1)
        except BaseException:
            self.close()
            raise

    def wait_ready(self) -> None:
        """Wait until all ranks have loaded their model. RankError when one has failed."""
        self._wait_for_state("ready")
        (self._folder / _WEIGHTS).unlink(missing_ok=True)

    def check(self) -> None:
        """RankError when a rank has failed."""
        if self._failure is not None:
            raise self._failure

    @property
    def is_closed(self) -> bool:
        return self._closed

    @contextmanager
    def guard(self) -> Iterator[None]:
        """Any error in this block closes the group, for the ranks are out of step then. If a rank's failure
        has caused it, that is raised instead.
        """
        try:
            self.check()
            yield
            self.check()
        except BaseException as error:
            failure = self._failure_behind(error)
            self.close()
            if failure is None or failure is error:
                raise
            raise failure from failure.__cause__

    def close(self) -> None:
        """End all other ranks, and free what the group has taken. Further calls do nothing."""
        with self._changed:
            if self._closed:
                return
            self._closed = True
        for each in self._processes.values():
            each.kill()
        for each in self._processes.values():
            each.wait()
            assert each.stdin is not None
            with suppress(BrokenPipeError):
                each.stdin.close()
        self.queue.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        if not self._joined:
            return
        if self._device.type == "cpu":
            leave_group()
            return
        # In a thread: NCCL lets go when the last graph is gone that holds some of it.
        global _leaving
        _leaving = threading.Thread(target=_leave_broken_group, daemon=True, name="rank leave")
        _leaving.start()

    def _start(
        self, config: SchedulerConfig, size: int, initializer: Callable[[], None] | None
    ) -> dict[Connection, int]:
        """Start the processes. Returns where each will report."""
        state_dict = None
        if isinstance(config.model, tuple):  # through a file, which the ranks map: no copy for each of them
            state_dict = self._folder / _WEIGHTS
            torch.save(config.model[1], state_dict)
            config = replace(config, model=(config.model[0], {}))
        reports: dict[Connection, int] = {}
        for rank in range(1, size):
            start = _Start(
                config=replace(config, tp_info=DistributedInfo(rank, size)),
                folder=self._folder,
                state_dict=state_dict,
                env={name: setting.value for name, setting in vars(ENV).items()},
                num_threads=max(1, torch.get_num_threads() // size),
                initializer=initializer,
            )
            told = pickle.dumps(sys.path) + pickle.dumps(start)
            receiving, sending = Pipe(duplex=False)
            child = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, str(sending.fileno())],
                stdin=subprocess.PIPE,
                pass_fds=(sending.fileno(),),
                process_group=0,  # one of its own: Ctrl-C is rank 0's to handle
            )
            sending.close()  # the child has the only one left: when it ends, the pipe does
            self._processes[rank], reports[receiving] = child, rank
            assert child.stdin is not None
            with suppress(BrokenPipeError):  # it has ended already, as the pipe says
                child.stdin.write(told)
                child.stdin.flush()
        return reports

    def _wait_for_state(self, state: str) -> None:
        with self._changed:
            ranks = self._processes.keys()
            self._changed.wait_for(lambda: self._failure or all(self._states.get(r) == state for r in ranks))
        self.check()

    def _join(self) -> None:
        """Meet the others. They have come so far by now, so that it hardly takes time; still it is done in a
        thread, for who waits there for a rank that has died cannot be told to stop.
        """
        global _stuck
        outcome: list[BaseException | None] = []

        def join() -> None:
            error: BaseException | None = None
            try:
                join_group(self.config.tp_info, self._folder / "meeting", self._device)
            except BaseException as caught:
                error = caught
            with self._changed:
                outcome.append(error)
                self._changed.notify_all()

        if self._device.type == "cuda":
            torch.cuda.set_device(self._device)
        self._wait_for_state("here")
        threading.Thread(target=join, daemon=True, name="rank join").start()
        with self._changed:
            try:
                self._changed.wait_for(lambda: self._failure or outcome)
            finally:
                _stuck = not outcome
        self.check()
        if outcome[0] is not None:
            raise outcome[0]
        self._joined = True

    def _next_subscription(self) -> bytes:
        while True:
            self.check()
            try:
                return self.queue.get_subscription(timeout=0.1)
            except TimeoutError:
                pass

    def _watch(self, reports: dict[Connection, int]) -> None:
        """Wait for what the ranks report, and for their ends; in a thread."""
        follower: RankError | None = None  # from a rank that has only noticed that another one is gone
        while reports:
            readable = connection.wait(list(reports), _GRACE_S if follower else None)
            for conn in readable:
                assert isinstance(conn, Connection)
                rank = reports[conn]
                report = self._read_report(conn, rank)
                if not report.error:
                    with self._changed:
                        self._states[rank] = report.state
                        self._changed.notify_all()
                    continue
                del reports[conn]
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

    def _read_report(self, conn: Connection, rank: int) -> _Report:
        try:
            report: _Report = conn.recv()
        except (EOFError, OSError):
            return _Report(error=self._end_of(rank))
        return report

    def _end_of(self, rank: int) -> str:
        """How a process has ended that did not say why."""
        code = self._processes[rank].wait()
        if code < 0:
            name = signal.Signals(-code).name
            return f"was killed by {name}" + (", as when memory runs out" if name == "SIGKILL" else "")
        return f"ended with exit code {code}, without a word"

    def _fail(self, failure: RankError) -> None:
        with self._changed:
            if self._closed:
                return
            self._failure = failure
            self._changed.notify_all()
        for each in self._processes.values():
            each.kill()
        if self._device.type == "cuda":
            break_off()
        if self._on_failure is not None:
            self._on_failure(failure)

    def _failure_behind(self, error: BaseException) -> RankError | None:
        """The failure of another rank that has led to this error of rank 0; None if it is its own."""
        if isinstance(error, PeerLostError):
            with self._changed:
                self._changed.wait_for(lambda: self._failure, timeout=2 * _GRACE_S)
        elif self._device.type != "cuda" or not isinstance(error, Exception):
            return None
        return self._failure


def rank_main(report_fd: int) -> None:
    """What a started process does: load its share, then run in step with rank 0 until it is ended."""
    start: _Start = pickle.load(sys.stdin.buffer)
    with suppress(OSError):  # Linux: what ps and top call it
        Path("/proc/self/comm").write_text(f"rank{start.config.tp_info.rank}")
    threading.Thread(target=_end_with_rank0, args=(start.folder,), daemon=True).start()
    reports = Connection(report_fd, readable=False)
    try:
        if start.initializer is not None:
            start.initializer()
        _run_rank(start, reports)
    except BaseException as error:
        text = f"failed: {type(error).__name__}: {error}"
        lost_contact = isinstance(error, PeerLostError)
        reports.send(_Report(error=text, traceback=traceback.format_exc(), lost_contact=lost_contact))
    os._exit(1)  # at once: nothing is left to be saved, and the GPU may be stuck


def _run_rank(start: _Start, reports: Connection) -> None:
    from ..utils.mp import ZmqSubQueue

    torch.set_num_threads(start.num_threads)
    for name, value in start.env.items():
        getattr(ENV, name).value = value
    config = start.config
    device = rank_device(config.device, config.tp_info)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    reports.send(_Report("here"))
    join_group(config.tp_info, start.folder / "meeting", device)
    queue = ZmqSubQueue(_address(start.folder), create=False, decoder=BaseBackendMsg.decoder)
    if start.state_dict is not None and isinstance(config.model, tuple):
        weights = torch.load(start.state_dict, map_location="cpu", mmap=True)
        config = replace(config, model=(config.model[0], weights))
    scheduler = Scheduler(config, recv_from_rank0=queue)
    reports.send(_Report("ready"))
    scheduler.run_forever()


def _end_with_rank0(folder: Path) -> None:
    """End this process when rank 0's has ended, even if that had no time to say so."""
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)


def _leave_broken_group() -> None:
    break_off()  # the others cannot take leave any more
    leave_group()


def _address(folder: Path) -> str:
    return f"ipc://{folder}/messages"
