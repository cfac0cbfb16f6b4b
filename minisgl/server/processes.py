"""Starts the other processes of the server, notices when one ends, and ends them."""

from __future__ import annotations

import asyncio
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import connection, get_context, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from ..utils.mp import private_folder
from .args import ServerArgs
from .limits import EngineLimits
from .workers import Addresses, Report, detokenizer_main, run_worker, scheduler_main, tokenizer_main


class ProcessFailed(RuntimeError):
    """A process has ended that should not have. The message says which and why."""


class Processes:
    """The tokenizers, the scheduler and the detokenizer.

    Args:
        args: `model` is a folder.

    Attributes:
        addresses: of the queues.
        tokenizers: names of the processes that tokenize.
    """

    def __init__(self, args: ServerArgs) -> None:
        self.addresses = Addresses(private_folder())
        self.tokenizers = [f"tokenizer{i}" for i in range(args.num_tokenizers)]
        self._processes: dict[str, BaseProcess] = {}
        self._conns: dict[str, Connection] = {}
        try:
            with _signals_blocked():
                self._start("scheduler", scheduler_main, args)
                self._start("detokenizer", detokenizer_main, args)
                for name in self.tokenizers:
                    self._start(name, tokenizer_main, args, name)
        except BaseException:  # a signal that was blocked, or no more processes allowed
            self.stop()
            raise

    def wait_ready(self) -> EngineLimits:
        """Wait until all processes take messages. ProcessFailed when one ends instead."""
        waiting = {conn: name for name, conn in self._conns.items()}
        limits: EngineLimits | None = None
        while waiting:
            for conn in connection.wait(list(waiting)):
                assert isinstance(conn, Connection)
                limits = self._read(waiting.pop(conn)).limits or limits
        assert limits is not None  # the scheduler is one of them
        for name in self.tokenizers:
            self._conns[name].send(limits)
        return limits

    def watch(self, loop: asyncio.AbstractEventLoop, on_failure: Callable[[ProcessFailed], None]) -> None:
        """From now on no process has anything more to say: call `on_failure` when one ends."""

        def readable(name: str) -> None:
            loop.remove_reader(self._conns[name].fileno())
            try:
                self._read(name)
            except ProcessFailed as error:
                on_failure(error)

        for name, conn in self._conns.items():
            loop.add_reader(conn.fileno(), readable, name)

    def stop(self) -> None:
        """End all processes; returns when they are gone."""
        for process in self._processes.values():
            process.kill()  # they have nothing to save
        for process in self._processes.values():
            process.join()
        shutil.rmtree(self.addresses.folder, ignore_errors=True)

    def _start(self, name: str, main: Callable[..., None], *args: Any) -> None:
        context = get_context("spawn")  # a fork would copy threads' locks, and a CUDA context that is dead
        ours, theirs = context.Pipe()
        process = context.Process(
            target=run_worker, args=(name, main, theirs, self.addresses, *args), name=f"minisgl-{name}"
        )
        process.start()
        theirs.close()  # the process has the only one left: when it ends, the pipe does
        self._processes[name], self._conns[name] = process, ours

    def _read(self, name: str) -> Report:
        """The next thing that a process says. ProcessFailed when it is its last."""
        try:
            report: Report = self._conns[name].recv()
        except (EOFError, OSError):
            report = Report(self._end_of(name))
        if report.error:
            raise ProcessFailed(f"the {name} process has failed: {report.error}")
        return report

    def _end_of(self, name: str) -> str:
        """How a process has ended that did not say why."""
        process = self._processes[name]
        process.join()
        code = process.exitcode
        if code is not None and code < 0:
            killed = signal.Signals(-code).name
            return f"it was killed by {killed}" + (", as when memory runs out" if killed == "SIGKILL" else "")
        return f"it ended with exit code {code}, without a word"


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Processes started in this block never see a signal that asks to end. A terminal and a service manager
    send it to all of them, but the server decides, which must answer running requests before.

    One that comes meanwhile is handled after the block. The mask is this thread's alone: where another thread
    takes the signal, Python would run the handler here at once, so handlers wait, too.
    """
    signals = {signal.SIGINT, signal.SIGTERM}
    resource_tracker.ensure_running()  # or it starts in the block, and unblocks them
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    came: list[int] = []
    handlers = {each: signal.getsignal(each) for each in signals} if _in_main_thread() else {}
    for each, handler in handlers.items():
        if callable(handler):
            signal.signal(each, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for each, handler in handlers.items():
            if callable(handler):
                signal.signal(each, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number in came:
            signal.raise_signal(number)


def _in_main_thread() -> bool:
    """Only there may handlers be set."""
    return threading.current_thread() is threading.main_thread()
