"""Rows of the page table, one a running request."""

from __future__ import annotations

import torch


class TableManager:
    """Hands out the rows `0..max_running_reqs - 1`.

    `page_table`, int32 [max_running_reqs + 1, max_seq_len], says where in the KV pool each position of a
    row lies; `token_pool`, of the same shape, which token stands there. The last row is the dummy
    request's.
    """

    def __init__(self, max_running_reqs: int, page_table: torch.Tensor) -> None:
        self.max_running_reqs = max_running_reqs
        self.page_table = page_table
        self.token_pool = torch.zeros_like(page_table)
        self.reset()

    def reset(self) -> None:
        """Take all rows back."""
        self._free_slots = list(reversed(range(self.max_running_reqs)))

    @property
    def available_size(self) -> int:
        return len(self._free_slots)

    def allocate(self) -> int:
        """A free row. RuntimeError when there is none."""
        if not self._free_slots:
            raise RuntimeError(f"all {self.max_running_reqs} rows of the page table are taken")
        return self._free_slots.pop()

    def free(self, slot: int) -> None:
        """Give a row back. RuntimeError when it is free already."""
        if slot in self._free_slots:
            raise RuntimeError(f"row {slot} of the page table was freed twice")
        self._free_slots.append(slot)
