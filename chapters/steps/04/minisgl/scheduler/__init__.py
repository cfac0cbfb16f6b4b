"""Who computes what in the next step."""

from .table import TableManager

__all__ = ["TableManager"]
