"""What the experts' layer asks of a backend, and how a router chooses."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch


def select_experts(logits: torch.Tensor, top_k: int, renormalize: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """The experts of each token, the most likely first; of equally likely ones the lower id first.

    Args:
        logits: [N, num_experts], any floating dtype.
        top_k: experts a token.
        renormalize: make the weights of each token's experts sum to 1.

    Returns:
        weights, float32 [N, top_k]: probabilities after a softmax over all experts, computed in float32;
        ids, int32 [N, top_k].
    """
    probs = torch.softmax(logits.float(), dim=-1)
    probs, ids = torch.sort(probs, dim=-1, descending=True, stable=True)  # topk does not say how ties end
    weights, ids = probs[:, :top_k], ids[:, :top_k]
    if renormalize:
        weights = weights / weights.sum(dim=-1, keepdim=True)
    return weights.contiguous(), ids.int()


class BaseMoeBackend(ABC):
    """Sends tokens through their experts."""

    @property
    @abstractmethod
    def can_capture(self) -> bool:
        """Whether a CUDA graph may capture `forward`: it never waits for a number from the device."""

    @abstractmethod
    def forward(
        self,
        hidden_states: torch.Tensor,
        w1: torch.Tensor,
        w2: torch.Tensor,
        gating_output: torch.Tensor,
        topk: int,
        renormalize: bool,
    ) -> torch.Tensor:
        """The weighted sum of each token's experts, expert(x) = w2 (silu(gate) * up), (gate, up) = w1 x.

        Args:
            hidden_states: [N, hidden_size].
            w1: [num_experts, 2 intermediate_size, hidden_size], gate above up.
            w2: [num_experts, hidden_size, intermediate_size].
            gating_output: the router's logits, [N, num_experts].
            topk: experts a token.
            renormalize: the weights of a token's experts sum to 1.

        Returns:
            [N, hidden_size] in the dtype of `hidden_states`.
        """
