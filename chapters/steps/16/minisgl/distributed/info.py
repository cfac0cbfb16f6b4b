"""Which of how many ranks this process is, and which models so many ranks can share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from ..utils import check_count, is_int

if TYPE_CHECKING:
    from ..models import ModelConfig


@dataclass(frozen=True)
class DistributedInfo:
    """One rank's place among the processes that share a model.

    Raises:
        ValueError: the rank is not one of `size`.
    """

    rank: int
    size: int

    def __post_init__(self) -> None:
        check_count("the number of ranks", self.size)
        if not is_int(self.rank) or not 0 <= self.rank < self.size:
            raise ValueError(f"rank must be an integer from 0 to {self.size - 1}, not {self.rank!r}")

    @property
    def is_primary(self) -> bool:
        """Whether this rank talks to the outside: it takes requests in and gives tokens out."""
        return self.rank == 0


ONE_RANK = DistributedInfo(0, 1)
_tp_info = ONE_RANK


def set_tp_info(rank: int, size: int) -> None:
    """Say which rank this process is. Layers made from now on hold that rank's share of their weights."""
    global _tp_info
    _tp_info = DistributedInfo(rank, size)


def get_tp_info() -> DistributedInfo:
    """Which rank this process is; rank 0 of 1 where nobody has said anything."""
    return _tp_info


def rank_device(device: str | torch.device, info: DistributedInfo) -> torch.device:
    """The device of one rank: of several that ask for "cuda", each gets a GPU of its own."""
    given = torch.device(device)
    return torch.device("cuda", info.rank) if given.type == "cuda" and info.size > 1 else given


def check_split(config: ModelConfig, size: int) -> None:
    """ValueError when `size` ranks cannot share a model evenly; the message says which sizes work."""
    if _splits(config, size):
        return
    sizes = [str(n) for n in range(1, config.num_qo_heads + 1) if _splits(config, n)]
    raise ValueError(
        f"{size} ranks cannot share this model evenly: it has {config.num_qo_heads} query heads,"
        f" {config.num_kv_heads} key/value heads and a feed-forward size of {config.intermediate_size};"
        f" tp_size may be {', '.join(sizes)}"
    )


def _splits(config: ModelConfig, size: int) -> bool:
    # Fewer key/value heads than ranks: neighbouring ranks hold the same one.
    kv_fits = config.num_kv_heads % size == 0 or size % config.num_kv_heads == 0
    return config.num_qo_heads % size == 0 and kv_fits and config.intermediate_size % size == 0
