"""From merged queries, keys and values to the output of attention."""

from __future__ import annotations

import torch

from ..core import get_global_ctx
from .base import StateLessOP
from .norm import RMSNorm
from .rotary import RotaryEmbedding


class AttentionLayer(StateLessOP):
    """Norms of query and key heads where the model has them, rotation, then the backend's attention."""

    def __init__(
        self,
        layer_id: int,
        num_qo_heads: int,
        num_kv_heads: int,
        head_dim: int,
        rotary: RotaryEmbedding,
        q_norm: RMSNorm | None = None,
        k_norm: RMSNorm | None = None,
    ) -> None:
        self.layer_id = layer_id
        self.num_qo_heads, self.num_kv_heads, self.head_dim = num_qo_heads, num_kv_heads, head_dim
        self.rotary = rotary
        self.q_norm, self.k_norm = q_norm, k_norm

    def forward(self, qkv: torch.Tensor) -> torch.Tensor:
        """qkv [N, (num_qo_heads + 2 num_kv_heads) head_dim] to [N, num_qo_heads head_dim]."""
        ctx = get_global_ctx()
        heads = qkv.view(len(qkv), -1, self.head_dim)
        qk, v = heads.split((self.num_qo_heads + self.num_kv_heads, self.num_kv_heads), dim=1)
        if self.q_norm is not None and self.k_norm is not None:
            q, k = qk.split((self.num_qo_heads, self.num_kv_heads), dim=1)
            qk = torch.cat((self.q_norm.forward(q), self.k_norm.forward(k)), dim=1)
        # Queries and keys turn in one call: at batch size 1 the calls cost more than the arithmetic.
        qk = self.rotary.forward(qk, ctx.batch.positions)
        q, k = qk.split((self.num_qo_heads, self.num_kv_heads), dim=1)
        out = ctx.attn_backend.forward(q, k, v, self.layer_id, ctx.batch)
        return out.view(len(qkv), self.num_qo_heads * self.head_dim)
