"""The tensor: numpy's array behind torch's rules. Other modules hang their operations here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from ._absent import NotInTabError
from ._dtype import BY_NUM, CPU, META, Size, as_int, device, dtype

F = TypeVar("F", bound=Callable[..., Any])
FUNCTIONS: dict[str, Callable[..., Any]] = {}  # what `torch` offers
_new = object.__new__
META_MEMORY = np.zeros((), np.float64)  # whoever's array is a view of this has no memory of its own


def function(f: F) -> F:
    """Offer `f` as `torch.f`."""
    FUNCTIONS[f.__name__.rstrip("_") if f.__name__.endswith("__") else f.__name__] = f
    return f


def method(f: F) -> F:
    """Offer `f` as `Tensor.f`."""
    setattr(Tensor, f.__name__, f)
    return f


def op(f: F) -> F:
    """Offer `f` as both."""
    FUNCTIONS[f.__name__] = f
    setattr(Tensor, f.__name__, f)
    return f


class Tensor:
    """An array with torch's interface. `_a` is the numpy array, which views of a tensor share in memory."""

    __slots__ = ("__weakref__", "_a")
    _a: np.ndarray

    __array_priority__ = 1000  # numpy's operators leave theirs to ours

    def __new__(cls, *data: Any, device: Any = None) -> Tensor:
        from ._data import legacy_tensor

        return legacy_tensor(cls, data)

    requires_grad = False
    is_cuda = is_sparse = is_quantized = is_leaf_of_graph = is_mps = is_mkldnn = False
    is_leaf, grad, grad_fn = True, None, None
    layout = None  # set to torch.strided

    @property
    def dtype(self) -> dtype:
        return BY_NUM[self._a.dtype.num]

    @property
    def shape(self) -> Size:
        return Size(self._a.shape)

    @property
    def ndim(self) -> int:
        return self._a.ndim

    @property
    def device(self) -> device:
        return META if self._a.base is META_MEMORY else CPU

    @property
    def is_meta(self) -> bool:
        return self._a.base is META_MEMORY

    @property
    def itemsize(self) -> int:
        return self._a.itemsize

    @property
    def nbytes(self) -> int:
        return self._a.nbytes

    @property
    def data(self) -> Tensor:
        return wrap(self._a)

    @data.setter
    def data(self, other: Tensor) -> None:
        self._a = other._a

    def size(self, dim: int | None = None) -> Any:
        return Size(self._a.shape) if dim is None else self._a.shape[checked_dim(dim, self._a.ndim)]

    def dim(self) -> int:
        return self._a.ndim

    ndimension = dim

    def numel(self) -> int:
        return self._a.size

    nelement = numel

    def element_size(self) -> int:
        return self._a.itemsize

    def stride(self, dim: int | None = None) -> Any:
        size = self._a.itemsize
        strides = tuple([step // size for step in self._a.strides])
        return strides if dim is None else strides[checked_dim(dim, len(strides))]

    def storage_offset(self) -> int:
        """Elements between the beginning of the memory and the first one."""
        base = self._a
        while isinstance(base.base, np.ndarray):
            base = base.base
        return (self.data_ptr() - base.__array_interface__["data"][0]) // self._a.itemsize

    def data_ptr(self) -> int:
        return int(self._a.__array_interface__["data"][0])

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return bool(self._a.flags.c_contiguous)

    def is_floating_point(self) -> bool:
        return self._a.dtype.kind == "f"

    def is_complex(self) -> bool:
        return False

    def is_signed(self) -> bool:
        return self._a.dtype.kind in "if"

    def is_inference(self) -> bool:
        return False

    def item(self) -> Any:
        a = self._a
        if a.size != 1:
            raise RuntimeError(f"a Tensor with {a.size} elements cannot be converted to Scalar")
        return a.item()

    def tolist(self) -> Any:
        return self._a.tolist()

    def numpy(self, *, force: bool = False) -> np.ndarray:
        return self._a

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self._a if dtype is None and not copy else np.array(self._a, dtype)

    def __len__(self) -> int:
        try:
            return self._a.shape[0]
        except IndexError:
            raise TypeError("len() of a 0-d tensor") from None

    def __iter__(self) -> Iterator[Tensor]:
        a = self._a
        if a.ndim == 0:
            raise TypeError("iteration over a 0-d tensor")
        return iter([wrap(a[i, ...]) for i in range(a.shape[0])])

    def __bool__(self) -> bool:
        a = self._a
        if a.size == 1:
            return bool(a.item())
        if a.size == 0:
            raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def _scalar(self) -> Any:
        if self._a.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self._a.item()

    def __index__(self) -> int:
        a = self._a
        if a.size != 1 or a.dtype.kind == "f":
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(a.item())

    def __hash__(self) -> int:
        return id(self)

    def __format__(self, spec: str) -> str:
        if self._a.ndim == 0 and type(self) is Tensor:
            return format(self._a.item(), spec)
        return object.__format__(self, spec)

    def __repr__(self) -> str:
        from ._repr import tensor_repr

        return tensor_repr(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        copy = _new(type(self))
        copy._a = self._a.copy()
        copy.__dict__.update(self.__dict__) if hasattr(self, "__dict__") else None
        memo[id(self)] = copy
        return copy

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return _rebuild, (type(self), self._a)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise NotInTabError(f"torch.Tensor.{name}")


def _rebuild(cls: type[Tensor], a: np.ndarray) -> Tensor:
    tensor = _new(cls)
    tensor._a = a
    return tensor


def wrap(a: Any) -> Tensor:
    """A tensor of an array; numpy's scalars, which operations on arrays without dimensions give, too."""
    tensor = _new(Tensor)
    tensor._a = a if a.__class__ is np.ndarray else np.asarray(a)
    return tensor


def checked_dim(dim: Any, ndim: int) -> int:
    """A dimension counted from the front. IndexError when there is none such; a tensor without has one."""
    if dim.__class__ is not int:
        dim = as_int(dim)
    n = ndim or 1
    if -n <= dim < n:
        return dim + n if dim < 0 else dim
    raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")


def checked_tensor(value: Any, name: str = "input", op_name: str = "") -> Tensor:
    """TypeError when it is none."""
    if not isinstance(value, Tensor):
        where = f"{op_name}(): " if op_name else ""
        raise TypeError(f"{where}argument '{name}' must be Tensor, not {type(value).__name__}")
    return value
