"""Matrix products. Each class says how its matrix is cut when several GPUs share a layer.

"Col parallel" layers cut the output features, so that each rank computes some of them from the whole input;
"row parallel" layers cut the input features, and their partial results must be added up over the ranks. An
output-cut layer followed by an input-cut one needs one sum for both. With one rank nothing is cut.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from .base import BaseOP


class _Linear(BaseOP):
    """y = x W^T + b; weight [output_size, input_size], bias [output_size] or None."""

    def __init__(self, input_size: int, output_size: int, has_bias: bool) -> None:
        self.weight = torch.empty(output_size, input_size)
        self.bias = torch.empty(output_size) if has_bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [N, input_size] to [N, output_size]."""
        return F.linear(x, self.weight, self.bias)


class LinearColParallelMerged(_Linear):
    """Several output-cut matrices as one, so that the input is read once: outputs side by side."""

    def __init__(self, input_size: int, output_sizes: Sequence[int], has_bias: bool) -> None:
        super().__init__(input_size, sum(output_sizes), has_bias)


class LinearQKVMerged(LinearColParallelMerged):
    """Queries, keys and values of all heads in one product: [N, (num_qo_heads + 2 num_kv_heads) head_dim]."""

    def __init__(
        self, hidden_size: int, head_dim: int, num_qo_heads: int, num_kv_heads: int, has_bias: bool
    ) -> None:
        sizes = (num_qo_heads * head_dim, num_kv_heads * head_dim, num_kv_heads * head_dim)
        super().__init__(hidden_size, sizes, has_bias)


class LinearRowParallel(_Linear):
    """An input-cut matrix: each rank has the outputs' partial sums."""


class LinearOProj(LinearRowParallel):
    """The projection behind attention, which mixes the heads."""
