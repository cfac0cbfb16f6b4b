"""The judge in a notebook: `%load_ext judge.notebook`, then a cell that begins with `%%judge 192`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from judge.notebook.points import points

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


__all__ = ["load_ipython_extension", "points"]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Called by `%load_ext`: adds the cell magic."""
    from judge.notebook.magic import JudgeMagic

    shell.register_magics(JudgeMagic)
