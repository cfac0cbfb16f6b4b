"""A decoder layer for Llama, Mistral, Qwen2 and Qwen3: they differ in biases and in norms on heads."""

from __future__ import annotations

import torch

from ..layers import BaseOP, RMSNormFused, RotaryEmbedding
from .config import ModelConfig
from .utils import GatedMLP, RopeAttn


class DecoderLayer(BaseOP):
    """Attention and feed-forward network, each behind a norm and beside the residual stream."""

    def __init__(self, config: ModelConfig, layer_id: int, rotary: RotaryEmbedding) -> None:
        self.self_attn = RopeAttn(config, layer_id, rotary)
        self.mlp = GatedMLP(config)
        self.input_layernorm = RMSNormFused(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = RMSNormFused(config.hidden_size, config.rms_norm_eps)

    def forward(
        self, x: torch.Tensor, residual: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Take the last sublayer's output x and the residual stream, both [N, hidden_size].

        Returns:
            This layer's last output, not yet added, and the residual stream: the next norm adds them.
        """
        x, residual = self.input_layernorm.forward(x, residual)
        x = self.self_attn.forward(x)
        x, residual = self.post_attention_layernorm.forward(x, residual)
        x = self.mlp.forward(x)
        return x, residual
