"""torch.nn: modules that hold parameters, for inference."""

from __future__ import annotations

from typing import Any

from .._absent import missing_attribute
from . import functional
from ._container import ModuleDict, ModuleList, ParameterList, Sequential
from ._layers import (
    GELU,
    Dropout,
    Embedding,
    Identity,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    Sigmoid,
    SiLU,
    Softmax,
    Tanh,
)  # fmt: skip
from ._module import Buffer, Module, Parameter

__all__ = [
    "GELU", "Buffer", "Dropout", "Embedding", "Identity", "LayerNorm", "Linear", "Module", "ModuleDict",
    "ModuleList", "Parameter", "ParameterList", "RMSNorm", "ReLU", "Sequential", "SiLU", "Sigmoid", "Softmax",
    "Tanh", "functional",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    missing_attribute("torch.nn", name)
