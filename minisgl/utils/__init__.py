"""Small helpers that several parts share."""

from .misc import (
    align_down,
    align_up,
    cdiv,
    check_count,
    default_dtype,
    div_even,
    int_tensor,
    is_int,
    is_number,
    read_json,
)

__all__ = [
    "align_down",
    "align_up",
    "cdiv",
    "check_count",
    "default_dtype",
    "div_even",
    "int_tensor",
    "is_int",
    "is_number",
    "read_json",
]
