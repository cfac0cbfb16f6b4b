"""Models: their shapes, their weights, and the decoder that serves them."""

from .base import BaseLLMModel
from .checkpoint import load_config
from .config import ModelConfig, RotaryConfig
from .locate import cache_folder, resolve_model
from .register import create_model
from .weight import fill_model, load_weights, merge_projections

__all__ = [
    "BaseLLMModel",
    "ModelConfig",
    "RotaryConfig",
    "cache_folder",
    "create_model",
    "fill_model",
    "load_config",
    "load_weights",
    "merge_projections",
    "resolve_model",
]
