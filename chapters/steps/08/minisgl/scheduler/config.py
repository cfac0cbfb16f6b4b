"""What a scheduler is told when it is made."""

from __future__ import annotations

from dataclasses import dataclass

from ..engine.config import EngineConfig
from ..kvcache import PREFIX_CACHE_TYPES
from ..utils import check_count


@dataclass(frozen=True)
class SchedulerConfig(EngineConfig):
    """The engine's settings and those of scheduling.

    Raises:
        ValueError: a setting is out of its range.
    """

    max_extend_tokens: int = 8192  # most tokens that one prefill batch computes, so also the longest prompt
    cache_type: str = "naive"  # which prefix cache: "naive" remembers nothing

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("max_extend_tokens", self.max_extend_tokens)
        if self.cache_type not in PREFIX_CACHE_TYPES:
            raise ValueError(
                f"cache_type must be one of {', '.join(PREFIX_CACHE_TYPES)}, not {self.cache_type!r}"
            )
