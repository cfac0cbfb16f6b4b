"""Print what the torch on the path offers, as JSON. Run by api.py with the tab's torch on the path."""

from __future__ import annotations

import inspect
import json
from types import ModuleType
from typing import Any

import torch
import torch.nn.functional


def _entry(name: str, value: Any) -> dict[str, str]:
    if isinstance(value, ModuleType):
        kind = "namespace"
    elif isinstance(value, type):
        kind = "class"
    elif callable(value):
        kind = "method" if name.startswith("Tensor.") else "function"
    else:
        kind = "property" if isinstance(value, property) else "constant"
    signature = ""
    if callable(value):
        try:
            found = inspect.signature(value)
        except (TypeError, ValueError):
            found = None
        if found is not None:
            own_names = ("self", "input") if kind == "method" else ()
            own = [one for one in found.parameters.values() if one.name not in own_names]
            plain = [
                one.replace(annotation=inspect.Parameter.empty, default=_shown(one.default)) for one in own
            ]
            shown = inspect.Signature(plain)
            signature = str(shown)
    doc = (inspect.getdoc(value) or "").partition("\n")[0] if kind != "constant" else ""
    return {"name": name, "kind": kind, "signature": signature, "doc": doc}


class _Elided:
    """Stands for a default whose text tells nothing, and changes from run to run."""

    def __repr__(self) -> str:
        return "..."


def _shown(default: Any) -> Any:
    known = (int, float, str, bool, type(None), tuple)
    return default if default is inspect.Parameter.empty or isinstance(default, known) else _Elided()


def main() -> None:
    places = {
        "torch": torch,
        "Tensor": torch.Tensor,
        "torch.nn": torch.nn,
        "F": torch.nn.functional,
        "torch.nn.functional": torch.nn.functional,
    }
    entries = [
        _entry(f"{owner}.{name}", inspect.getattr_static(place, name))
        for owner, place in places.items()
        for name in dir(place)
        if not name.startswith("_") and name not in ("annotations", "Any", "np", "sys")
    ]
    print(json.dumps(entries))


if __name__ == "__main__":
    main()
