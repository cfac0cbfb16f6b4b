"""Small helpers that several parts share."""

from .misc import align_down, align_up, cdiv, default_dtype

__all__ = ["align_down", "align_up", "cdiv", "default_dtype"]
