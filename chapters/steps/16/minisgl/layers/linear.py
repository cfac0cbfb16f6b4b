"""Matrix products. Each class says how its matrix is cut when several ranks share a layer.

"Col parallel" layers cut the output features, so that each rank computes some of them from the whole input;
"row parallel" layers cut the input features, and their partial results must be added up over the ranks. An
output-cut layer followed by an input-cut one needs one sum for both. With one rank nothing is cut.

Sizes given to a layer are those of the whole model; its weights are this rank's share. The cut is Megatron's,
https://arxiv.org/abs/1909.08053.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from ..distributed import DistributedCommunicator, get_tp_info
from ..utils import div_even
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
        size = get_tp_info().size
        super().__init__(input_size, sum(div_even(output, size) for output in output_sizes), has_bias)


class LinearQKVMerged(_Linear):
    """Queries, keys and values in one product: [N, (num_qo_heads + 2 num_kv_heads) head_dim] of this rank's
    heads. Where there are fewer key/value heads than ranks, neighbouring ranks hold the same one.
    """

    def __init__(
        self, hidden_size: int, head_dim: int, num_qo_heads: int, num_kv_heads: int, has_bias: bool
    ) -> None:
        size = get_tp_info().size
        heads = div_even(num_qo_heads, size) + 2 * div_even(num_kv_heads, size, allow_replicate=True)
        super().__init__(hidden_size, heads * head_dim, has_bias)


class LinearRowParallel(_Linear):
    """An input-cut matrix: each rank has the outputs' partial sums, which are added up."""

    def __init__(self, input_size: int, output_size: int, has_bias: bool) -> None:
        super().__init__(div_even(input_size, get_tp_info().size), output_size, has_bias)
        self._comm = DistributedCommunicator()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """This rank's part of the input [N, input_size / ranks] to [N, output_size]."""
        if self._comm.size == 1:
            return F.linear(x, self.weight, self.bias)
        y = self._comm.all_reduce(F.linear(x, self.weight))
        return y if self.bias is None else y + self.bias  # once, and not by every rank before the sum


class LinearOProj(LinearRowParallel):
    """The projection behind attention, which mixes the heads."""
