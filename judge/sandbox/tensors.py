"""Tensors on the wire: dtype, shape and raw bytes.

A box has real tensors. The judge keeps them as they come, as plain data: numbers of a few bytes are read and
compared ten times quicker that way, and torch never looks at what a box has made up.
"""

from __future__ import annotations

from typing import Any, Literal, Self

import msgspec

TENSOR_BYTES = 64 << 20
DIMENSIONS = 8
DIMENSION = 1 << 24

DTypeName = Literal[
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"
]
ITEM_BYTES: dict[str, int] = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2,
    "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1, "bool": 1,
}  # fmt: skip
_FORMATS: dict[str, Any] = {
    "float64": "d", "float32": "f", "int64": "q", "int32": "i", "int16": "h", "int8": "b", "uint8": "B",
    "bool": "?",
}  # fmt: skip
"""Of struct and memoryview; the other two are left to torch."""
_ARRAYS: dict[str, Any] = {
    "<f8": "float64", "<f4": "float32", "<f2": "float16", "<i8": "int64", "<i4": "int32", "<i2": "int16",
    "|i1": "int8", "|u1": "uint8", "|b1": "bool",
}  # fmt: skip
"""By numpy's ``dtype.str``; asking for the name takes longer than all else."""


class FrameError(ValueError):
    """The bytes are no frame of this protocol."""


class TooLarge(ValueError):
    """A frame or value is over the limits of this protocol."""


class TensorData(msgspec.Struct, array_like=True, forbid_unknown_fields=True, frozen=True):
    """A tensor as plain data. Two are equal when dtype, shape and bits are; ``raw`` is in row order."""

    dtype: DTypeName
    shape: list[int]
    raw: bytes

    @classmethod
    def decode(cls, data: bytes | memoryview) -> Self:
        """What ``encode`` made, or what a box pretends that it did. Raises FrameError."""
        tensor = _decoder.decode(data)
        if len(tensor.shape) > DIMENSIONS or any(not 0 <= size <= DIMENSION for size in tensor.shape):
            raise FrameError("a shape out of bounds")
        count = 1
        for size in tensor.shape:
            count *= size
        if count * ITEM_BYTES[tensor.dtype] != len(tensor.raw):
            raise FrameError("shape and bytes of a tensor do not agree")
        if tensor.dtype == "bool" and tensor.raw.strip(b"\0\1"):
            raise FrameError("a bool tensor holds a byte that is neither 0 nor 1")
        return tensor

    def encode(self) -> bytes:
        """As it goes over the wire."""
        return _encoder.encode(self)

    def torch(self) -> Any:
        """A tensor with memory of its own."""
        import torch

        dtype = getattr(torch, self.dtype)
        if not self.raw:
            return torch.empty(self.shape, dtype=dtype)
        flat = torch.frombuffer(bytearray(self.raw), dtype=dtype)
        return flat if len(self.shape) == 1 else flat.view(self.shape)

    def tolist(self) -> Any:
        """Its values, as ``torch.Tensor.tolist`` gives them."""
        code = _FORMATS.get(self.dtype)
        if code is None or not self.raw or not self.shape:
            return self.torch().tolist()
        return memoryview(self.raw).cast(code, self.shape).tolist()


def plain(torch: Any, tensor: Any) -> TensorData | str:
    """The data of a tensor, without class, graph and device; or why it cannot travel. Raises TooLarge."""
    if type(tensor) is torch.Tensor:
        return _plain(torch, tensor)
    # A subclass may lie in whatever it overrides: only the base class's own methods look at the data.
    with torch._C.DisableTorchFunctionSubclass():
        try:
            return _plain(torch, torch.Tensor.as_subclass(tensor, torch.Tensor))
        except RuntimeError:  # sparse and the like
            return "a tensor without plain storage"


def _plain(torch: Any, tensor: Any) -> TensorData | str:
    try:
        array = tensor.numpy()
    except (TypeError, RuntimeError):  # bfloat16, a graph, another device, no plain storage
        return _rare(torch, tensor)
    dtype = _ARRAYS.get(array.dtype.str)
    if dtype is None:
        return f"a tensor of {tensor.dtype}"
    if array.nbytes > TENSOR_BYTES:
        raise TooLarge("a tensor too large to send")
    return TensorData(dtype, list(array.shape), array.tobytes())


def _rare(torch: Any, tensor: Any) -> TensorData | str:
    dtype: Any = str(tensor.dtype).removeprefix("torch.")
    if tensor.layout != torch.strided or tensor.device.type == "meta":
        return f"a tensor on {tensor.device.type}, {tensor.layout}"
    if dtype not in ITEM_BYTES:
        return f"a tensor of {dtype}"
    if tensor.numel() * ITEM_BYTES[dtype] > TENSOR_BYTES:
        raise TooLarge("a tensor too large to send")
    tensor = tensor.detach().cpu().resolve_neg()
    bits = tensor.view(torch.int16) if dtype == "bfloat16" else tensor
    return TensorData(dtype, list(tensor.shape), bits.numpy().tobytes())


_encoder = msgspec.msgpack.Encoder()
_decoder: msgspec.msgpack.Decoder[Any] = msgspec.msgpack.Decoder(TensorData)
