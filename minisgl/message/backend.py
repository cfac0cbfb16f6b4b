"""Messages to the scheduler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ..core import SamplingParams
from .utils import deserialize_type, serialize_type


@dataclass
class BaseBackendMsg:
    """Anything that the scheduler receives."""

    def encoder(self) -> dict[str, Any]:
        """The message as plain data."""
        data: dict[str, Any] = serialize_type(self)
        return data

    @staticmethod
    def decoder(data: Any) -> BaseBackendMsg:
        """The message in untrusted plain data. ValueError when it is none of this module's."""
        msg = deserialize_type(globals(), data)
        if not isinstance(msg, BaseBackendMsg):
            raise ValueError(f"expected a message to the scheduler, not a {type(msg).__name__}")
        return msg


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
