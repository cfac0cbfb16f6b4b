"""Experts in plain torch: the reference for the fused backend."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from ..layers.activation import silu_and_mul
from .base import BaseMoeBackend, select_experts


class TorchMoe(BaseMoeBackend):
    """One expert after another, each on its tokens. Which experts are needed is decided on the CPU."""

    can_capture = False

    def forward(
        self,
        hidden_states: torch.Tensor,
        w1: torch.Tensor,
        w2: torch.Tensor,
        gating_output: torch.Tensor,
        topk: int,
        renormalize: bool,
    ) -> torch.Tensor:
        weights, ids = select_experts(gating_output, topk, renormalize)
        out = torch.zeros(hidden_states.shape, dtype=torch.float32, device=hidden_states.device)
        for expert in ids.unique().tolist():
            tokens, choices = torch.where(ids == expert)
            x = silu_and_mul(F.linear(hidden_states[tokens], w1[expert]))
            x = F.linear(x, w2[expert]) * weights[tokens, choices].unsqueeze(1)
            out.index_add_(0, tokens, x.float())
        return out.to(hidden_states.dtype)
