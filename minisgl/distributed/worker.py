"""What runs in the processes that `launch` starts: a rank that follows rank 0."""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from ..env import ENV
from ..message import BaseBackendMsg
from ..scheduler import Scheduler, SchedulerConfig
from .impl import PeerLostError, join_group
from .info import rank_device

# The whole program of such a process. What it is told comes through its standard input, which stays open: its
# end means that rank 0 has ended.
PROGRAM = """
import pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from minisgl.distributed.worker import rank_main
rank_main(int(sys.argv[1]))
"""


@dataclass(frozen=True)
class Start:
    """What a rank is told."""

    config: SchedulerConfig
    folder: Path
    state_dict: Path | None  # of a model in memory
    env: Mapping[str, Any]
    num_threads: int
    initializer: bytes  # pickled apart, because unpickling may fail


@dataclass(frozen=True)
class Report:
    """What a rank tells: how far it is, or, with an error, that it ends."""

    state: str = ""  # "here": about to meet the others; "ready": its model is loaded
    error: str = ""
    traceback: str = ""
    lost_contact: bool = False


def meeting_point(folder: Path) -> Path:
    """The file in a group's folder that the ranks leave their addresses in."""
    return folder / "meeting"


def messages_address(folder: Path) -> str:
    """Where rank 0 publishes messages."""
    return f"ipc://{folder}/messages"


def rank_main(report_fd: int) -> None:
    """What a started process does: load its share, then run in step with rank 0 until it is ended."""
    start: Start = pickle.load(sys.stdin.buffer)
    with suppress(OSError):  # Linux: what ps and top call it
        Path("/proc/self/comm").write_text(f"rank{start.config.tp_info.rank}")
    threading.Thread(target=_end_with_rank0, args=(start.folder,), daemon=True).start()
    reports = Connection(report_fd, readable=False)
    try:
        initializer: Callable[[], None] | None = pickle.loads(start.initializer)
        if initializer is not None:
            initializer()
        _run_rank(start, reports)
    except BaseException as error:
        text = f"failed: {type(error).__name__}: {error}"
        lost_contact = isinstance(error, PeerLostError)
        reports.send(Report(error=text, traceback=traceback.format_exc(), lost_contact=lost_contact))
    os._exit(1)  # at once: nothing is left to be saved, and the GPU may be stuck


def _run_rank(start: Start, reports: Connection) -> None:
    from ..utils.mp import ZmqSubQueue

    torch.set_num_threads(start.num_threads)
    for name, value in start.env.items():
        getattr(ENV, name).value = value
    config = start.config
    device = rank_device(config.device, config.tp_info)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    reports.send(Report("here"))
    join_group(config.tp_info, meeting_point(start.folder), device)
    queue = ZmqSubQueue(messages_address(start.folder), create=False, decoder=BaseBackendMsg.decoder)
    if start.state_dict is not None and isinstance(config.model, tuple):
        weights = torch.load(start.state_dict, map_location="cpu", mmap=True)
        config = replace(config, model=(config.model[0], weights))
    scheduler = Scheduler(config, recv_from_rank0=queue)
    reports.send(Report("ready"))
    scheduler.run_forever()


def _end_with_rank0(folder: Path) -> None:
    """End this process when rank 0's has ended, even if that had no time to say so."""
    sys.stdin.buffer.read()
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(1)
