"""Small helpers that every part of the engine may use."""

from .misc import align_down, div_ceil

__all__ = ["align_down", "div_ceil"]
