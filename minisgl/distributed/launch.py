"""Starts the other ranks of a model, and ends all of them when one ends.

Rank 0 is the process that asks: a program with an `LLM`, or the server's scheduler. Ranks 1, 2, ... are its
children and die with it, however it ends. A rank that fails says so to rank 0, which raises that error.
"""

from __future__ import annotations

import os
import pickle
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import torch

from ..env import ENV
from ..message import BaseBackendMsg
from ..models import load_config, resolve_model
from ..scheduler import SchedulerConfig
from ..scheduler.io import wait_for_subscribers
from ..utils import check_count
from .children import GRACE_S, RankError, RankProcesses
from .impl import PeerLostError, break_off, in_group, join_group, leave_group
from .info import DistributedInfo, check_split, rank_device
from .worker import Start, meeting_point, messages_address

__all__ = ["RankError", "RankGroup", "launch_ranks"]

_WEIGHTS = "weights.pt"
_stuck = False  # whether a thread of this process waits for ever for ranks that have died
_leaving: threading.Thread | None = None  # takes this process out of its last group


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
        _leaving.join(2 * GRACE_S)
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
        self._owner = os.getpid()
        self._joined = False
        self._closed = False
        self._folder = private_folder()
        self.queue = ZmqPubQueue(messages_address(self._folder), create=True, encoder=BaseBackendMsg.encoder)
        try:
            self._children = RankProcesses(self._starts(config, size, initializer), self._child_failed)
        except BaseException:
            self._clean_up()
            raise
        try:
            self._join()
            wait_for_subscribers(self._next_subscription, size - 1)
        except BaseException:
            self.close()
            raise

    @property
    def pids(self) -> list[int]:
        """The processes that were started."""
        return self._children.pids

    def wait_ready(self) -> None:
        """Wait until all ranks have loaded their model. RankError when one has failed."""
        self._children.wait_for_state("ready")
        (self._folder / _WEIGHTS).unlink(missing_ok=True)

    def check(self) -> None:
        """RankError when a rank has failed."""
        self._children.check()

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
        """End all other ranks, and free what the group has taken. Further calls do nothing.

        On a GPU, NCCL lets go only when the last graph is gone that holds some of it: see `wait_left`.
        """
        global _leaving
        if self._closed or os.getpid() != self._owner:  # a fork of the owner may end before it
            return
        self._closed = True
        self._children.stop()
        self._clean_up()
        if not self._joined:
            return
        if self._device.type == "cpu":
            leave_group()
            return
        _leaving = threading.Thread(target=_leave_broken_group, daemon=True, name="rank leave")
        _leaving.start()

    def wait_left(self) -> None:
        """After `close`, and when the engine is gone: wait until nothing of the group is left."""
        if _leaving is not None:
            _leaving.join(2 * GRACE_S)

    def _clean_up(self) -> None:
        self.queue.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _starts(
        self, config: SchedulerConfig, size: int, initializer: Callable[[], None] | None
    ) -> dict[int, Start]:
        """What each of the other ranks is told."""
        state_dict = None
        if isinstance(config.model, tuple):  # through a file, which the ranks map: no copy for each of them
            state_dict = self._folder / _WEIGHTS
            torch.save(config.model[1], state_dict)
            config = replace(config, model=(config.model[0], {}))
        return {
            rank: Start(
                config=replace(config, tp_info=DistributedInfo(rank, size)),
                folder=self._folder,
                state_dict=state_dict,
                env={name: setting.value for name, setting in vars(ENV).items()},
                num_threads=max(1, torch.get_num_threads() // size),
                initializer=pickle.dumps(initializer),
            )
            for rank in range(1, size)
        }

    def _join(self) -> None:
        """Meet the others. They have come so far by now, so that it hardly takes time; still it is done in a
        thread, for who waits there for a rank that has died cannot be told to stop.
        """
        global _stuck
        outcome: list[BaseException | None] = []
        children = self._children

        def join() -> None:
            error: BaseException | None = None
            try:
                join_group(self.config.tp_info, meeting_point(self._folder), self._device)
            except BaseException as caught:
                error = caught
            with children.changed:
                outcome.append(error)
                children.changed.notify_all()

        if self._device.type == "cuda":
            torch.cuda.set_device(self._device)
        children.wait_for_state("here")
        threading.Thread(target=join, daemon=True, name="rank join").start()
        try:
            children.wait_until(lambda: len(outcome) > 0)
        finally:
            _stuck = not outcome
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

    def _child_failed(self, failure: RankError) -> None:
        """In the children's thread."""
        shutil.rmtree(self._folder, ignore_errors=True)  # nobody may come to `close`
        if self._on_failure is not None:
            self._on_failure(failure)
        if self._device.type == "cuda":  # rank 0 may wait for the GPU, which waits for the rank
            break_off()

    def _failure_behind(self, error: BaseException) -> RankError | None:
        """The failure of another rank that has led to this error of rank 0; None if it is its own."""
        children, patience = self._children, 0.0
        if isinstance(error, PeerLostError):
            patience = 2 * GRACE_S
        elif isinstance(error, Exception) and self._device.type == "cuda":
            patience = 1.0  # a GPU that stops waiting for a rank fails in many ways
        with children.changed:
            if patience:
                children.changed.wait_for(lambda: children.failure, timeout=patience)
        return children.failure if patience else None


def _leave_broken_group() -> None:
    break_off()  # the others cannot take leave any more
    leave_group()
