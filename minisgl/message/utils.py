"""Messages as plain data and back: what crosses a socket is dicts, lists, numbers, strings and bytes.

Bytes from a socket are not trusted. They name a type, and only a dataclass that the receiver lists may be
made from them, with exactly its fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import torch

_TYPE = "__type__"
_TENSOR = "Tensor"
_PLAIN = (bool, int, float, str, bytes)
_CONTAINERS = (dict, list, tuple)
_DTYPES = {str(dtype): dtype for dtype in (torch.int32, torch.int64, torch.float32)}


def serialize_type(obj: Any) -> Any:
    """A message as plain data: a dataclass becomes a dict that names it under `"__type__"`, at every level.

    A tensor [n] of int32, int64 or float32 becomes `{"__type__": "Tensor", "dtype", "buffer"}`: bytes are
    smaller and faster than a list of numbers. Tuples become lists.

    Raises:
        ValueError: something in the message is none of the above, nor None, bool, int, float, str or bytes.
    """
    if obj is None or isinstance(obj, _PLAIN):
        return obj
    if isinstance(obj, list | tuple):
        return [serialize_type(item) for item in obj]
    if isinstance(obj, dict):
        if _TYPE in obj or not all(isinstance(key, str) for key in obj):
            raise ValueError(f"the keys of a dict in a message must be strings other than {_TYPE!r}")
        return {key: serialize_type(value) for key, value in obj.items()}
    if isinstance(obj, torch.Tensor):
        return _serialize_tensor(obj)
    if is_dataclass(obj) and not isinstance(obj, type):
        plain = {name: serialize_type(getattr(obj, name)) for name in _field_names(type(obj))}
        return {_TYPE: type(obj).__name__, **plain}
    raise ValueError(f"a message cannot hold a {type(obj).__name__}: {obj!r}")


def deserialize_type(cls_map: Mapping[str, Any], data: Any) -> Any:
    """The message that `serialize_type` has made `data` from.

    Args:
        cls_map: what a name may stand for; a module's `globals()` will do, as only its dataclasses count.
        data: untrusted.

    Raises:
        ValueError: it names another type, has other fields than that type, or a tensor's bytes are damaged.
    """
    if not isinstance(data, _CONTAINERS):
        return data
    if not isinstance(data, dict):
        return [deserialize_type(cls_map, item) for item in data]
    if _TYPE not in data:
        return {key: deserialize_type(cls_map, value) for key, value in data.items()}
    name = data[_TYPE]
    if name == _TENSOR:
        return _deserialize_tensor(data)
    cls = cls_map.get(name) if isinstance(name, str) else None
    if not (isinstance(cls, type) and is_dataclass(cls)):
        raise ValueError(f"no message type is called {name!r}")
    expected = _field_names(cls)
    if len(data) != len(expected) + 1 or not all(field in data for field in expected):
        given = sorted(map(str, data.keys() - {_TYPE}))
        raise ValueError(f"a {name} has the fields {sorted(expected)}, not {given}")
    return cls(**{field: deserialize_type(cls_map, data[field]) for field in expected})


@cache
def _field_names(cls: type) -> tuple[str, ...]:
    """The fields that a dataclass is made from. Kept, for this is asked for every token of every request."""
    return tuple(field.name for field in fields(cls) if field.init)


def _serialize_tensor(tensor: torch.Tensor) -> dict[str, Any]:
    if tensor.dim() != 1 or str(tensor.dtype) not in _DTYPES:
        given = f"{list(tensor.shape)} of {tensor.dtype}"
        raise ValueError(f"a tensor in a message must be [n] of {', '.join(_DTYPES)}, not {given}")
    buffer = tensor.detach().cpu().contiguous().numpy().tobytes()  # of its elements, not of its storage
    return {_TYPE: _TENSOR, "dtype": str(tensor.dtype), "buffer": buffer}


def _deserialize_tensor(data: dict[str, Any]) -> torch.Tensor:
    if data.keys() != {_TYPE, "dtype", "buffer"}:
        raise ValueError(f"a Tensor has the fields ['buffer', 'dtype'], not {sorted(map(str, data))}")
    name, buffer = data["dtype"], data["buffer"]
    dtype = _DTYPES.get(name) if isinstance(name, str) else None
    if dtype is None:
        raise ValueError(f"the dtype of a Tensor must be one of {', '.join(_DTYPES)}, not {name!r}")
    if not isinstance(buffer, bytes) or len(buffer) % dtype.itemsize:
        raise ValueError(f"the buffer of a Tensor of {name} must be bytes, {dtype.itemsize} for each element")
    if not buffer:  # torch.frombuffer refuses it
        return torch.empty(0, dtype=dtype)
    return torch.frombuffer(bytearray(buffer), dtype=dtype)  # a copy: bytes cannot be written to
