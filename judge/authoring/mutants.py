"""Cut mutants from the reference: what can be derived is not written twice."""

from __future__ import annotations

from pathlib import Path


def instead(code: str, old: str, new: str) -> str:
    """``code`` with its one occurrence of ``old`` replaced. Raises ValueError when there is none, or more."""
    if code.count(old) != 1:
        raise ValueError(f"{old!r} occurs {code.count(old)} times")
    return code.replace(old, new)


def reference(hidden_file: str) -> str:
    """The source of ``solutions/NNN_slug.py`` for the hidden module ``judge/hidden/NNN_slug.py``."""
    here = Path(hidden_file).resolve()
    return (here.parents[2] / "solutions" / here.name).read_text(encoding="utf-8")
