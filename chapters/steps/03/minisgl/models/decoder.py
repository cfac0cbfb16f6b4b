"""One decoder for Llama, Mistral, Qwen2 and Qwen3: they differ in biases and in norms on heads."""

from __future__ import annotations

import torch

from ..core import get_global_ctx
from ..layers import (
    BaseOP,
    OPList,
    ParallelLMHead,
    RMSNormFused,
    RotaryEmbedding,
    VocabParallelEmbedding,
)
from .base import BaseLLMModel
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


class Decoder(BaseOP):
    """Embedding, layers and the last norm."""

    def __init__(self, config: ModelConfig, device: torch.device) -> None:
        rotary = RotaryEmbedding(config.rotary_config, device)
        self.embed_tokens = VocabParallelEmbedding(config.vocab_size, config.hidden_size)
        self.layers = OPList([DecoderLayer(config, i, rotary) for i in range(config.num_layers)])
        self.norm = RMSNormFused(config.hidden_size, config.rms_norm_eps)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        """Token ids, int [N], to vectors [N, hidden_size]."""
        x = self.embed_tokens.forward(input_ids)
        residual: torch.Tensor | None = None
        for layer in self.layers:
            x, residual = layer.forward(x, residual)
        return self.norm.forward(x, residual)[0]


class DecoderForCausalLM(BaseLLMModel):
    """A decoder that writes text."""

    def __init__(self, config: ModelConfig, device: torch.device) -> None:
        self.model = Decoder(config, device)
        tied = self.model.embed_tokens if config.tie_word_embeddings else None
        self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size, tied)

    def forward(self) -> torch.Tensor:
        return self.lm_head.forward(self.model.forward(get_global_ctx().batch.input_ids))
