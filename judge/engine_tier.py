"""Where the engine part runs: whose boxes, their limits, and what the engine is told there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    """Boxes for the engine part, on the CPU unless said otherwise."""

    pool: Pool
    limits: Limits = ENGINE_LIMITS
    on: EngineSettings = CPU
