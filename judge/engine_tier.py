"""Where the engine part runs: whose boxes, their limits, and what the engine is told there."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from judge.sandbox import ENGINE_LIMITS, Limits, Pool


@dataclass(frozen=True)
class EngineSettings:
    """``more`` are settings of the LLM, ``head_dim`` is T0's, ``dtype`` a name of torch's.

    ``exact``: rounding is too fine to decide a token of T0, or another seed is drawn. Elsewhere a token may
    hang on rounding; the submission and the reference run the same kernels on the same batches, and what does
    not even repeat with the reference is drawn again.
    """

    device: str = "cpu"
    dtype: str = "float32"
    head_dim: int = 16
    exact: bool = True
    more: Mapping[str, Any] = field(default_factory=dict)


CPU = EngineSettings()


@dataclass(frozen=True)
class Tier:
    """Boxes for the engine part, on the CPU unless said otherwise.

    ``reference``: boxes for our own code, where they are others. ``beside``: whether both may run at once.
    """

    pool: Pool
    limits: Limits = ENGINE_LIMITS
    on: EngineSettings = CPU
    reference: Pool | None = None
    beside: bool = True

    def close(self) -> None:
        """Close its pools; those of ``device_tier`` are nobody else's."""
        for pool in (self.pool, self.reference):
            if pool is not None:
                pool.close()


def device_tier(device: str, cache: Path | None = None) -> Tier:
    """Fresh processes outside of the sandbox, one at a time: all that a GPU allows. See sandbox/device.py.

    ``device``: "cuda", or "cpu" to go the same way without a GPU.
    """
    from judge.sandbox.device import DEVICE_LIMITS, DeviceBackend, default_cache

    where = cache or default_cache() / device
    learners = Pool(slots=1, backend=lambda: DeviceBackend(device, where, keeps=False))
    ours = Pool(slots=1, backend=lambda: DeviceBackend(device, where, keeps=True))
    settings = cuda_settings() if device == "cuda" else EngineSettings(more=_LIKE_CUDA)
    return Tier(learners, DEVICE_LIMITS, settings, ours, beside=False)


def why_no_cuda() -> str | None:
    """A key of the catalogue's [cli] that says why nothing can run on a GPU here; None when it can."""
    import torch

    if torch.cuda.is_available():
        return None
    return "no_cuda_build" if torch.version.cuda is None else "no_cuda_device"


def cuda_settings() -> EngineSettings:
    """The engine as it serves on a GPU: half precision, FlashInfer where it is installed, graphs, overlap."""
    attention = "fi" if importlib.util.find_spec("flashinfer") else "auto"
    more = {"attention_backend": attention}
    return EngineSettings("cuda", "bfloat16", head_dim=64, exact=False, more=more)


_LIKE_CUDA = {"overlap": True, "emulate_graph": True}
