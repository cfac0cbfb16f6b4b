"""`install` for the kernel and for `%pip install`."""

from __future__ import annotations

import importlib.metadata
from typing import Any

_PIPLITE_DISABLE_PYPI = True  # the kernel sets both
_PIPLITE_URLS: list[str] = []


async def install(requirements: str | list[str], *_: Any, **__: Any) -> None:
    """Nothing to do for what is there.

    Raises:
        ValueError: a package is asked for that this site does not bring.
    """
    for name in [requirements] if isinstance(requirements, str) else requirements:
        try:
            importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            raise ValueError(
                f"{name} is not part of this site, which fetches nothing from elsewhere; to use it, open the "
                f"notebook with `make lab` / 本站不带 {name}，也不从别处下载；要用它，请改用 `make lab`"
            ) from None
