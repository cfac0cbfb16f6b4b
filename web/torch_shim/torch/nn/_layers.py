"""Layers of a transformer."""

from __future__ import annotations

import math
from typing import Any

from .._core import Tensor
from .._dtype import as_shape
from . import functional as F
from ._module import Module, Parameter


def _empty(*shape: int, device: Any = None, dtype: Any = None) -> Tensor:
    from .._core import FUNCTIONS

    result: Tensor = FUNCTIONS["empty"](*shape, device=device, dtype=dtype)
    return result


class Linear(Module):
    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = Parameter(_empty(out_features, in_features, device=device, dtype=dtype))
        self.register_parameter(
            "bias", Parameter(_empty(out_features, device=device, dtype=dtype)) if bias else None
        )
        if not self.weight.is_meta:
            self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0
        self.weight.uniform_(-bound, bound)
        if self.bias is not None:
            self.bias.uniform_(-bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class Embedding(Module):
    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, *, _weight: Any = None,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.padding_idx = num_embeddings, embedding_dim, padding_idx
        weight = (
            _weight
            if _weight is not None
            else _empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
        )
        self.weight = Parameter(weight)
        if _weight is None and not self.weight.is_meta:
            self.weight.normal_()
            if padding_idx is not None:
                self.weight[padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, **rest: Any) -> Embedding:
        return cls(*embeddings.shape, _weight=embeddings)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


class _Norm(Module):
    def __init__(self, normalized_shape: Any, eps: float | None, affine: bool, **where: Any) -> None:
        super().__init__()
        self.normalized_shape, self.eps = as_shape((normalized_shape,)), eps
        self.elementwise_affine = affine
        self.register_parameter(
            "weight", Parameter(_empty(*self.normalized_shape, **where)) if affine else None
        )
        if affine and not self.weight.is_meta:
            self.weight.fill_(1.0)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class RMSNorm(_Norm):
    def __init__(
        self, normalized_shape: Any, eps: float | None = None, elementwise_affine: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)


class LayerNorm(_Norm):
    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine, device=device, dtype=dtype)
        has_bias = elementwise_affine and bias
        shape = self.normalized_shape
        self.register_parameter(
            "bias", Parameter(_empty(*shape, device=device, dtype=dtype)) if has_bias else None
        )
        if has_bias and not self.bias.is_meta:
            self.bias.zero_()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps or 0.0)


class Identity(Module):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Dropout(Module):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace=False"


class Softmax(Module):
    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class SiLU(Module):
    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input)


class ReLU(Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input)


class GELU(Module):
    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Tanh(Module):
    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class Sigmoid(Module):
    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)
