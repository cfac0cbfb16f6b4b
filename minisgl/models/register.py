"""Which class serves which architecture."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..utils import default_dtype
from .base import BaseLLMModel
from .config import SUPPORTED_ARCHITECTURES, ModelConfig
from .decoder import DecoderForCausalLM

_MODELS: dict[str, Callable[[ModelConfig, torch.device], BaseLLMModel]] = dict.fromkeys(
    SUPPORTED_ARCHITECTURES, DecoderForCausalLM
)


def create_model(config: ModelConfig, device: torch.device, dtype: torch.dtype) -> BaseLLMModel:
    """Build a model whose weights have shapes and no memory yet; only its rotary table is on `device`.

    Raises:
        ValueError: no class serves the architecture.
    """
    if config.architecture not in _MODELS:
        raise ValueError(
            f"architecture {config.architecture} is not supported; supported are {', '.join(_MODELS)}"
        )
    with torch.device("meta"), default_dtype(dtype):
        return _MODELS[config.architecture](config, device)
