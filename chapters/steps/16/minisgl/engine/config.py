"""What an engine is told when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import torch

from ..distributed import DistributedInfo
from ..distributed.info import ONE_RANK
from ..models import ModelConfig
from ..utils import check_count, is_int, is_number

# A name (`minisgl-tiny`, `smollm2`), a folder, a GGUF file, a hub id; or a model in memory, with weights in
# Hugging Face names.
ModelSource: TypeAlias = str | Path | tuple[ModelConfig, dict[str, torch.Tensor]]


@dataclass(frozen=True)
class EngineConfig:
    """Settings of one engine.

    Raises:
        TypeError: `model` is none of the things that it may be.
        ValueError: another setting is out of its range.
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
    tp_info: DistributedInfo = ONE_RANK  # this process, of how many that share the model

    def __post_init__(self) -> None:
        pair = self.model if isinstance(self.model, tuple) else ()
        is_pair = len(pair) == 2 and isinstance(pair[0], ModelConfig) and isinstance(pair[1], dict)
        if not is_pair and not isinstance(self.model, str | Path):
            raise TypeError(
                "model must be a name, a folder, a hub id, or a pair of a ModelConfig and a state dict, not"
                f" {type(self.model).__name__}"
            )
        check_count("max_running_req", self.max_running_req)
        check_count("page_size", self.page_size)
        if self.num_page_override is not None:
            check_count("num_page_override", self.num_page_override)
        if self.max_seq_len_override is not None:
            check_count("max_seq_len_override", self.max_seq_len_override)
        if not is_number(self.memory_ratio) or not 0 < self.memory_ratio <= 1:
            raise ValueError(f"memory_ratio must be above 0 and at most 1, not {self.memory_ratio!r}")
        if not is_int(self.seed):
            raise ValueError(f"seed must be an integer, not {self.seed!r}")
        if self.dtype is not None and not (  # those of 8 bits are for storage: torch does not compute in them
            isinstance(self.dtype, torch.dtype) and self.dtype.is_floating_point and self.dtype.itemsize > 1
        ):
            raise ValueError(
                "dtype must be a floating-point type of at least 16 bits such as torch.float32, not"
                f" {self.dtype!r}"
            )
        if not isinstance(self.tp_info, DistributedInfo):
            raise ValueError(f"tp_info must be a DistributedInfo, not {self.tp_info!r}")
        self._check_device()

    def _check_device(self) -> None:
        try:
            device = torch.device(self.device)
        except (RuntimeError, TypeError):
            device = None
        if (
            device is None
            or device.type not in ("cpu", "cuda")
            or (device.type == "cpu" and device.index is not None)
        ):
            raise ValueError(f"device must be 'cpu' or 'cuda', not {self.device!r}")
        if device.type == "cuda" and not torch.cuda.is_available():
            raise ValueError("device is 'cuda', but torch finds no CUDA GPU here: use 'cpu'")
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise ValueError(
                f"device is {str(device)!r}, but torch finds {torch.cuda.device_count()} CUDA GPUs here"
            )
