"""The two sublayers of a decoder layer."""

from __future__ import annotations

import torch

from ..layers import (
    AttentionLayer,
    BaseOP,
    LinearColParallelMerged,
    LinearOProj,
    LinearQKVMerged,
    LinearRowParallel,
    RMSNorm,
    RotaryEmbedding,
    silu_and_mul,
)
from .config import ModelConfig


class RopeAttn(BaseOP):
    """Self-attention with rotary positions."""

    def __init__(self, config: ModelConfig, layer_id: int, rotary: RotaryEmbedding) -> None:
        self.qkv_proj = LinearQKVMerged(
            config.hidden_size, config.head_dim, config.num_qo_heads, config.num_kv_heads, config.qkv_bias
        )
        self.q_norm = RMSNorm(config.head_dim, config.rms_norm_eps) if config.qk_norm else None
        self.k_norm = RMSNorm(config.head_dim, config.rms_norm_eps) if config.qk_norm else None
        self.attn = AttentionLayer(
            layer_id,
            config.num_qo_heads,
            config.num_kv_heads,
            config.head_dim,
            rotary,
            q_norm=self.q_norm,
            k_norm=self.k_norm,
        )
        self.o_proj = LinearOProj(config.num_qo_heads * config.head_dim, config.hidden_size, config.o_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [N, hidden_size] to the same shape."""
        return self.o_proj.forward(self.attn.forward(self.qkv_proj.forward(x)))


class GatedMLP(BaseOP):
    """Feed-forward network with a gate."""

    def __init__(self, config: ModelConfig) -> None:
        self.gate_up_proj = LinearColParallelMerged(
            config.hidden_size, (config.intermediate_size, config.intermediate_size), config.mlp_bias
        )
        self.down_proj = LinearRowParallel(config.intermediate_size, config.hidden_size, config.mlp_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [N, hidden_size] to the same shape."""
        return self.down_proj.forward(silu_and_mul(self.gate_up_proj.forward(x)))
