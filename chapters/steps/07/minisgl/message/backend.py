"""Messages to the scheduler."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from ..core import SamplingParams


@dataclass
class BaseBackendMsg:
    """Anything that the scheduler receives."""


@dataclass
class UserMsg(BaseBackendMsg):
    """Generate from a prompt."""

    uid: int
    input_ids: torch.Tensor  # int32 [n], on the CPU
    sampling_params: SamplingParams


@dataclass
class AbortBackendMsg(BaseBackendMsg):
    """Stop a request, whether it waits or runs, and tell nobody."""

    uid: int
