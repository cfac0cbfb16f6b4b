"""Models: their shapes, and the layers of their decoder."""

from .config import ModelConfig, RotaryConfig

__all__ = ["ModelConfig", "RotaryConfig"]
