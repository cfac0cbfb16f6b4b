"""How a tensor is printed: as torch prints it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ._core import META_MEMORY, Tensor
from ._dtype import BY_NUM, default

_PRECISION, _THRESHOLD, _EDGE, _WIDTH = 4, 1000, 3, 80


class _Options:
    def __init__(self) -> None:
        self.precision, self.threshold, self.edgeitems, self.linewidth = _PRECISION, _THRESHOLD, _EDGE, _WIDTH
        self.sci_mode: bool | None = None


options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    if profile == "full":
        options.threshold = 2**62
    elif profile == "short":
        options.precision, options.threshold, options.edgeitems = 2, 1000, 2
    elif profile == "default":
        options.__init__()  # type: ignore[misc]
    for name in ("precision", "threshold", "edgeitems", "linewidth"):
        value = locals()[name]
        if value is not None:
            setattr(options, name, value)
    options.sci_mode = sci_mode


class _Formatter:
    """One width for all numbers of a tensor."""

    def __init__(self, values: np.ndarray) -> None:
        self._is_float = values.dtype.kind == "f"
        self._whole, self._scientific, self.width = True, False, 1
        flat = values.reshape(-1)
        if not self._is_float:
            self.width = max([len(str(x)) for x in flat.tolist()], default=1)
            return
        usual = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
        if usual.size == 0:
            return
        sizes = np.abs(usual)
        largest, smallest = float(sizes.max()), float(sizes.min())
        self._whole = bool((usual == np.ceil(usual)).all())
        if self._whole:
            self._scientific = largest / smallest > 1000.0 or largest > 1e8
            texts = [
                f"{x:.{options.precision}e}" if self._scientific else f"{x:.0f}." for x in usual.tolist()
            ]
            if not self._scientific:
                self.width = max(self.width, *(len(x) for x in texts))
        else:
            self._scientific = largest / smallest > 1000.0 or largest > 1e8 or smallest < 1e-4
            form = "e" if self._scientific else "f"
            texts = [f"{x:.{options.precision}{form}}" for x in usual.tolist()]
        self.width = max(self.width, *(len(x) for x in texts))
        if options.sci_mode is not None:
            self._scientific = options.sci_mode

    def __call__(self, value: Any) -> str:
        if not self._is_float:
            text = str(value)
        elif self._scientific:
            text = f"{value:{self.width}.{options.precision}e}"
        elif self._whole:
            text = f"{value:.0f}"
            if math.isfinite(value):
                text += "."
        else:
            text = f"{value:.{options.precision}f}"
        return text.rjust(self.width)


def _line(values: list[Any], form: _Formatter, indent: int) -> str:
    width = form.width + 2
    per_line = max(1, (options.linewidth - indent) // width)
    texts = [x if x == " ..." else form(x) for x in values]
    lines = [texts[i : i + per_line] for i in range(0, len(texts), per_line)]
    joined = [", ".join(line) for line in lines]
    return "[" + (",\n" + " " * (indent + 1)).join(joined) + "]"


def _body(a: np.ndarray, indent: int, short: bool, form: _Formatter) -> str:
    if a.ndim == 0:
        return form(a.item())
    edge = options.edgeitems
    cut = short and len(a) > 2 * edge
    if a.ndim == 1:
        values = [*a[:edge].tolist(), " ...", *a[-edge:].tolist()] if cut else a.tolist()
        return _line(values, form, indent)
    rows = [*range(edge), -1, *range(len(a) - edge, len(a))] if cut else list(range(len(a)))
    parts = ["..." if row == -1 else _body(a[row], indent + 1, short, form) for row in rows]
    return "[" + ("," + "\n" * (a.ndim - 1) + " " * (indent + 1)).join(parts) + "]"


def _ends(a: np.ndarray) -> np.ndarray:
    """What is shown of a large tensor: the first and last of each dimension."""
    edge = options.edgeitems
    for dim in range(a.ndim):
        n = a.shape[dim]
        if n > 2 * edge:
            a = a.take([*range(edge), *range(n - edge, n)], dim)
    return a


def tensor_repr(tensor: Tensor) -> str:
    a = tensor._a
    name = "Parameter containing:\n" if type(tensor).__name__ == "Parameter" else ""
    suffixes: list[str] = []
    if a.base is META_MEMORY:
        body, shown = "...", f"device='meta', size={tuple(a.shape)}"
        suffixes.append(shown)
    elif a.size == 0:
        body = "[]"
        if a.ndim != 1:
            suffixes.append(f"size={tuple(a.shape)}")
    else:
        short = a.size > options.threshold
        body = _body(a, len("tensor("), short, _Formatter(_ends(a) if short else a))
    d = BY_NUM[a.dtype.num]
    usual = d is default.dtype or d.name in ("int64", "bool")
    if not usual or (a.size == 0 and d.name in ("int64",)):
        suffixes.append(f"dtype={d}")
    if tensor.requires_grad:
        suffixes.append("requires_grad=True")
    text = f"tensor({body}"
    last = len(text) - text.rfind("\n") - 1
    for suffix in suffixes:
        if last + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * len("tensor(") + suffix
            last = len("tensor(") + len(suffix)
        else:
            text += ", " + suffix
            last += len(suffix) + 2
    return f"{name}{text})"
