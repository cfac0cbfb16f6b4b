"""What a scheduler is told when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..engine.config import EngineConfig
from ..kvcache import PREFIX_CACHE_TYPES
from ..utils import check_count, is_int

Policy = Literal["fcfs", "lpm"]
Admission = Literal["worst_case", "optimistic"]


@dataclass(frozen=True)
class SchedulerConfig(EngineConfig):
    """The engine's settings and those of scheduling.

    Raises:
        ValueError: a setting is out of its range.
    """

    max_extend_tokens: int = 8192  # most tokens that one step computes of prompts; longer ones are cut
    cache_type: str = "radix"  # "radix" reuses the KV of shared prefixes, "naive" does not
    mixed: bool = False  # let running requests go on in the steps that compute prompts
    policy: Policy = "fcfs"  # who is admitted first: first come, or (lpm) longest prefix match
    lpm_bound: int = 16  # steps after which a waiting request is passed by no other, whatever it matches
    # "worst_case" keeps the pages of `max_tokens` for each request; "optimistic" only those of its prompt,
    # and takes the pages of the latest request back when they run out
    admission: Admission = "worst_case"
    watermark: int = 1  # pages that optimistic admission keeps free

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count("max_extend_tokens", self.max_extend_tokens)
        check_count("lpm_bound", self.lpm_bound)
        _check_choice("cache_type", self.cache_type, PREFIX_CACHE_TYPES)
        _check_choice("policy", self.policy, get_args(Policy))
        _check_choice("admission", self.admission, get_args(Admission))
        if not isinstance(self.mixed, bool):
            raise ValueError(f"mixed must be True or False, not {self.mixed!r}")
        if not is_int(self.watermark) or self.watermark < 0:
            raise ValueError(f"watermark must be an integer of at least 0, not {self.watermark!r}")


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
