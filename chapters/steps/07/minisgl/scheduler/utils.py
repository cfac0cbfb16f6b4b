"""What several parts of the scheduler share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from ..core import SamplingParams


@dataclass
class PendingReq:
    """A request that waits for a row and for room in the cache."""

    uid: int
    input_ids: torch.Tensor  # int32 [input_len], on the CPU
    sampling_params: SamplingParams

    @property
    def input_len(self) -> int:
        return len(self.input_ids)

    @property
    def output_len(self) -> int:
        """Most tokens that it may generate."""
        return self.sampling_params.max_tokens


def index_tensor(values: Sequence[int], device: torch.device) -> torch.Tensor:
    """An int64 tensor [len(values)] to index with, copied to the device without waiting for it."""
    host = torch.tensor(values, dtype=torch.int64)
    if device.type != "cuda":
        return host
    return host.pin_memory().to(device, non_blocking=True)
