"""torch on numpy: the part of it that an inference engine on a CPU uses, for Python in a browser's tab.

What is not here raises an error that names it and points to the judge, which has all of torch.
"""

# ruff: noqa: F401, F821 - what is imported here is what torch offers; functions come by `update`

from __future__ import annotations

import math
import sys
import warnings
from typing import Any

import numpy as _np

from . import (
    _absent,
    _along,
    _arith,
    _convert,
    _create,
    _data,
    _grad,
    _index,
    _indexed,
    _linalg,
    _masked,
    _memory,
    _parts,
    _pointwise,
    _random,
    _reduce,
    _repr,
    _sets,
    _shape,
)
from ._absent import AbsentModule, NotInTabError
from ._core import FUNCTIONS as _FUNCTIONS
from ._core import Tensor
from ._dtype import (
    Size,
    bfloat16,
    complex64,
    complex128,
    default,
    device,
    dtype,
    finfo,
    float8_e4m3fn,
    float8_e5m2,
    float16,
    float32,
    float64,
    get_default_dtype,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    promote_types,
    set_default_dtype,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._dtype import bool_ as bool
from ._grad import enable_grad, inference_mode, no_grad, set_grad_enabled
from ._linalg import einsum, tensordot
from ._random import Generator, default_generator
from ._repr import set_printoptions

__version__ = "2.13.0+minisgl"

# torch divides by zero and overflows without a word.
_np.seterr(all="ignore")
warnings.filterwarnings("ignore", category=RuntimeWarning, module=r"torch(\.|$)")

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e


class layout:
    """How a tensor's memory is arranged: strided, always."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


class memory_format(layout):
    pass


strided = layout("strided")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
Tensor.layout = strided  # type: ignore[assignment]
Tensor.__module__ = __name__

globals().update(_FUNCTIONS)


def result_type(one: Any, other: Any) -> dtype:
    """The dtype of an operation of both."""
    result: dtype = (
        (zeros_like(one) + other).dtype if isinstance(one, Tensor) else (one + zeros_like(other)).dtype
    )  # type: ignore[name-defined]
    return result


def can_cast(from_: dtype, to: dtype) -> Any:
    return from_._category <= to._category


def is_floating_point(input: Tensor) -> Any:
    return input.dtype.is_floating_point


def is_complex(input: Tensor) -> Any:
    return False


def get_num_threads() -> Any:
    return 1


def set_num_threads(count: Any) -> None:
    pass


def set_num_interop_threads(count: Any) -> None:
    pass


def use_deterministic_algorithms(mode: Any, *, warn_only: Any = False) -> None:
    pass


def set_default_device(where: Any) -> None:
    """Only the CPU can be the default."""
    if where is not None and device(where).type != "cpu":
        raise RuntimeError(f"there is no device {str(where)!r} in the tab: use 'cpu'")


def get_default_device() -> device:
    return default.devices[-1] if default.devices else device("cpu")


def set_float32_matmul_precision(precision: str) -> None:
    pass


from . import cuda, nn, testing  # noqa: E402
from .nn.functional import embedding, rms_norm  # noqa: E402

for _name in (
    "linalg", "fft", "special", "sparse", "distributed", "distributions", "autograd", "optim", "jit", "onnx",
    "fx", "func", "quantization", "profiler", "hub", "multiprocessing", "mps", "xpu", "library", "export",
    "amp",
    "utils", "utils.data", "_dynamo", "_inductor", "compiler", "accelerator", "masked", "nested", "signal",
    "nn.parallel", "nn.utils",
):  # fmt: skip
    _module = AbsentModule(f"torch.{_name}")
    _module.__path__ = []  # a package, so that `import torch.utils.data` finds what is below
    sys.modules[f"{__name__}.{_name}"] = _module  # tests load the shim beside real torch, by another name
    if "." not in _name:
        globals()[_name] = _module

distributed.is_available = distributed.is_initialized = lambda: False  # type: ignore[name-defined]


class _NoBackend:
    @staticmethod
    def is_available() -> Any:
        return False

    def __getattr__(self, name: str) -> Any:
        return _NoBackend()


class _Backends:
    """None of the libraries that torch may be built with."""

    mkl = mkldnn = cuda = cudnn = mps = openmp = _NoBackend()


class _Version:
    cuda = hip = git_version = None
    debug = False
    __version__ = __version__


class _C:
    class DisableTorchFunctionSubclass(no_grad):
        pass


backends, version = _Backends(), _Version()


def __getattr__(name: str) -> Any:
    _absent.missing_attribute("torch", name)
