"""Experts: many feed-forward networks, of which each token goes through a few."""

from __future__ import annotations

import torch

from ..core import get_global_ctx
from ..distributed import DistributedCommunicator
from ..utils import div_even
from .base import BaseOP


class MoELayer(BaseOP):
    """The experts of one layer, stacked, so that one kernel can reach all of them.

    `gate_up_proj` [num_experts, 2 intermediate_size, hidden_size], gate above up;
    `down_proj` [num_experts, hidden_size, intermediate_size]. Several ranks each have a share of every
    expert's intermediate features, and add up their results.
    """

    def __init__(
        self,
        num_experts: int,
        top_k: int,
        hidden_size: int,
        intermediate_size: int,
        renormalize: bool = True,
    ) -> None:
        self.top_k = top_k
        self.renormalize = renormalize
        self._comm = DistributedCommunicator()
        share = div_even(intermediate_size, self._comm.size)
        self.gate_up_proj = torch.empty(num_experts, 2 * share, hidden_size)
        self.down_proj = torch.empty(num_experts, hidden_size, share)

    def forward(self, hidden_states: torch.Tensor, router_logits: torch.Tensor) -> torch.Tensor:
        """Tokens [N, hidden_size] and their logits of the experts [N, num_experts] to [N, hidden_size]."""
        out = get_global_ctx().moe_backend.forward(
            hidden_states=hidden_states,
            w1=self.gate_up_proj,
            w2=self.down_proj,
            gating_output=router_logits,
            topk=self.top_k,
            renormalize=self.renormalize,
        )
        return self._comm.all_reduce(out)
