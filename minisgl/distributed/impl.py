"""What ranks tell each other while they compute: sums and concatenations of tensors.

NCCL carries tensors of GPUs, gloo those of CPUs, both through torch.distributed. With one rank nothing is
sent, and torch.distributed is not even imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import torch

from ..utils import trace
from .info import DistributedInfo, get_tp_info

T = TypeVar("T")
# A rank may rightly wait for another one as long as a user's callback thinks. That a rank has died, others
# learn from its closed connection and from their parent, not from a timeout.
_TIMEOUT = timedelta(days=1)


class PeerLostError(RuntimeError):
    """Another rank did not answer. It has most likely ended, and knows the cause."""


class DistributedCommunicator:
    """Adds up and joins tensors of all ranks, which call the same methods in the same order.

    Bound to the ranks that are in force (`get_tp_info`) when it is made. The calls may be captured in a CUDA
    graph.
    """

    def __init__(self) -> None:
        self.size = get_tp_info().size

    def all_reduce(self, x: torch.Tensor) -> torch.Tensor:
        """The sum of all ranks' x, on each of them; x itself takes it.

        Raises:
            PeerLostError: a rank does not answer.
        """
        if self.size == 1:
            return x
        import torch.distributed as dist

        trace.emit("all_reduce", elements=x.numel(), bytes=x.nbytes)
        _calling(dist.all_reduce, x)
        return x

    def all_gather(self, x: torch.Tensor) -> torch.Tensor:
        """All ranks' x [n, ...], rank after rank: [size * n, ...].

        Raises:
            PeerLostError: a rank does not answer.
        """
        if self.size == 1:
            return x
        gathered = x.new_empty((self.size * len(x), *x.shape[1:]))
        trace.emit("all_gather", elements=gathered.numel(), bytes=gathered.nbytes)
        _calling(_gather_function(), gathered, x.contiguous())
        return gathered


def in_group() -> bool:
    """Whether this process has joined others."""
    import torch.distributed as dist

    return dist.is_available() and dist.is_initialized()


def join_group(info: DistributedInfo, meeting_point: Path, device: torch.device) -> None:
    """Become one of the ranks. Returns when all have joined.

    Args:
        meeting_point: a file that does not exist yet, where the ranks leave their addresses. The system
            chooses their ports, so that groups started at once do not collide.
        device: of this rank, "cpu" or a certain GPU.
    """
    import torch.distributed as dist

    on_gpu = device.type == "cuda"
    with _environment(**_settings()), _same_excepthook():
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if on_gpu else "gloo",
            store=dist.FileStore(str(meeting_point), info.size),
            rank=info.rank,
            world_size=info.size,
            timeout=_TIMEOUT,
            device_id=device if on_gpu else None,
        )


def break_off() -> None:
    """Let the GPU's sums end that wait for a rank which has died, and with them whoever waits for the GPU.

    May be called in any thread. Only `leave_group` makes sense afterwards.
    """
    import torch.distributed as dist

    if dist.is_initialized() and dist.group.WORLD is not None:
        dist.group.WORLD._get_backend(torch.device("cuda")).abort()


def leave_group() -> None:
    """Take no part any more; nothing happens when this process is in no group."""
    import torch.distributed as dist

    if in_group():
        dist.destroy_process_group()


def all_gather_int(value: int) -> list[int]:
    """Every rank's number, rank after rank. PeerLostError when a rank does not answer."""
    size = get_tp_info().size
    if size == 1:
        return [value]
    gathered = torch.empty(size, dtype=torch.int64)
    _calling(_gather_function(), gathered, torch.tensor([value]))
    return gathered.tolist()


def _gather_function() -> Callable[..., Any]:
    """torch's gathering into one tensor, which got another name with torch 2.13."""
    import torch.distributed as dist

    return getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


def _calling(function: Callable[..., T], *args: object) -> T:
    try:
        return function(*args)
    except (RuntimeError, ValueError) as error:  # ValueError: the group was aborted meanwhile
        raise PeerLostError("lost contact with another rank") from error


@contextmanager
def _same_excepthook() -> Iterator[None]:
    """torch.distributed would mark every line of this program's later tracebacks with its rank."""
    before = sys.excepthook
    try:
        yield
    finally:
        sys.excepthook = before


def _settings() -> dict[str, str]:
    """Environment variables for torch.distributed."""
    settings = {
        # When a rank has died, NCCL's watchdog would end this process, too, which may be the user's; and when
        # a debugger has stopped this process for long. `launch` watches over ranks.
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0",
        "TORCH_NCCL_ENABLE_MONITORING": "0",
    }
    if Path("/sys/class/net/lo").exists():  # all ranks are here: listen where no other machine gets to
        settings["GLOO_SOCKET_IFNAME"] = "lo"
    return settings


@contextmanager
def _environment(**settings: str) -> Iterator[None]:
    """Set environment variables that the user has not set, for the time of the block."""
    added = settings.keys() - os.environ.keys()
    os.environ.update({name: settings[name] for name in added})
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
