"""torch.testing: assertions for tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._absent import missing_attribute
from ._core import Tensor
from ._dtype import BY_NUM

_TOLERANCE = {"float16": (1e-3, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7)}


def _array(value: Any) -> np.ndarray:
    return value._a if isinstance(value, Tensor) else np.asarray(value)


def _fail(text: str, msg: Any) -> None:
    raise AssertionError(msg(text) if callable(msg) else msg or text)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Any = None,
) -> None:
    """AssertionError unless two tensors, numbers, or sequences and mappings of them are close."""
    rest: dict[str, Any] = {
        "rtol": rtol, "atol": atol, "equal_nan": equal_nan, "check_dtype": check_dtype,
        "check_stride": check_stride, "msg": msg,
    }  # fmt: skip
    if isinstance(expected, dict):
        if set(actual) != set(expected):
            _fail(f"The keys of the mappings do not match: {sorted(actual)} and {sorted(expected)}", msg)
        for key in expected:
            assert_close(actual[key], expected[key], **rest)
        return
    if isinstance(expected, list | tuple):
        if len(actual) != len(expected):
            _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", msg)
        for one, other in zip(actual, expected, strict=True):
            assert_close(one, other, **rest)
        return
    if isinstance(actual, Tensor) != isinstance(expected, Tensor):
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}."
        )
    a, b = _array(actual), _array(expected)
    if a.shape != b.shape:
        _fail(f"The values for attribute 'shape' do not match: {_size(a)} != {_size(b)}.", msg)
    if check_dtype and a.dtype != b.dtype and isinstance(actual, Tensor):
        _fail(
            f"The values for attribute 'dtype' do not match: {BY_NUM[a.dtype.num]} != {BY_NUM[b.dtype.num]}.",
            msg,
        )
    if check_stride and a.strides != b.strides:
        _fail("The values for attribute 'stride()' do not match.", msg)
    if (rtol is None) != (atol is None):
        raise ValueError("rtol and atol must both be specified or both be unspecified")
    if rtol is None or atol is None:
        pairs = [_TOLERANCE.get(x.dtype.name, (0.0, 0.0)) for x in (a, b)]
        rtol, atol = (max(both) for both in zip(*pairs, strict=True))
    _compare(a, b, rtol, atol, equal_nan, msg)


def _size(a: np.ndarray) -> str:
    return f"torch.Size({list(a.shape)})"


def _compare(a: np.ndarray, b: np.ndarray, rtol: float, atol: float, equal_nan: bool, msg: Any) -> None:
    if a.dtype.kind == b.dtype.kind == "b" or not (rtol or atol):
        close = a == b
        if equal_nan and a.dtype.kind == "f":
            close = close | (np.isnan(a) & np.isnan(b))
    else:
        close = np.isclose(a.astype(np.float64), b.astype(np.float64), rtol, atol, equal_nan)
    if np.all(close):
        return
    wrong, total = int(np.size(close) - np.count_nonzero(close)), np.size(close)
    difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
    head = "Scalars are not close!" if a.ndim == 0 else "Tensor-likes are not close!"
    kind = head if rtol or atol else head.replace("close", "equal")
    at = np.unravel_index(int(np.nanargmax(np.where(close, -1.0, difference))), a.shape) if a.ndim else ()
    _fail(
        f"{kind}\n\nMismatched elements: {wrong} / {total} ({100 * wrong / total:.1f}%)\n"
        f"Greatest absolute difference: {difference[at]} at index {tuple(int(i) for i in at)}"
        f" (up to {atol} allowed)\n"
        f"expected {b[at]}, got {a[at]} (rtol {rtol})",
        msg,
    )


def __getattr__(name: str) -> Any:
    missing_attribute("torch.testing", name)
