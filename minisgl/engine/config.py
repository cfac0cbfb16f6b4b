"""What an engine is told when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import torch

if TYPE_CHECKING:
    from ..models import ModelConfig

# A name (`minisgl-tiny`, `smollm2`), a folder, a hub id; or a model in memory, weights in Hugging Face names.
ModelSource: TypeAlias = "str | Path | tuple[ModelConfig, dict[str, torch.Tensor]]"


@dataclass(frozen=True)
class EngineConfig:
    """Settings of one engine.

    Raises:
        ValueError: a number is out of its range.
    """

    model: ModelSource = "minisgl-tiny"
    dtype: torch.dtype | None = None  # None: float32 on the CPU, what the model's config says elsewhere
    device: str | torch.device = "cpu"
    max_running_req: int = 256  # requests that can run at once: rows of the page table
    page_size: int = 1  # tokens a page
    memory_ratio: float = 0.9  # share of the free memory that weights and KV pool may take
    num_page_override: int | None = None  # pages of the KV pool, instead of what memory allows
    max_seq_len_override: int | None = None  # longest sequence, instead of what the model allows
    attention_backend: str = "auto"
    seed: int = 42  # of requests that bring no seed of their own

    def __post_init__(self) -> None:
        for name in ("max_running_req", "page_size", "num_page_override", "max_seq_len_override"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, not {value}")
        if not 0 < self.memory_ratio <= 1:
            raise ValueError(f"memory_ratio must be above 0 and at most 1, not {self.memory_ratio}")
