"""A decoder in float64 numpy, one sequence at a time, without a cache: in place of transformers on the shim.

As plain as a textbook, so that it can be wrong only where everybody would see it; on real torch the same
tests compare with transformers.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from minisgl.layers.rotary import cos_sin_table
from minisgl.models.config import ModelConfig


def peer_model(config: ModelConfig, weights: dict[str, torch.Tensor]) -> Peer:
    return Peer(config, weights)


def _norm(x: np.ndarray, weight: np.ndarray, eps: float) -> np.ndarray:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Peer:
    """Called like a model of transformers."""

    def __init__(self, config: ModelConfig, weights: dict[str, torch.Tensor]) -> None:
        self.config = config
        self._weights = {name: tensor.numpy().astype(np.float64) for name, tensor in weights.items()}
        self._cos_sin = cos_sin_table(config.rotary_config).numpy().astype(np.float64)

    def __call__(self, input_ids: torch.Tensor, **rest: Any) -> SimpleNamespace:
        rows = [self._logits(ids) for ids in input_ids.tolist()]
        return SimpleNamespace(logits=torch.tensor(np.stack(rows), dtype=torch.float32))

    def generate(
        self, input_ids: torch.Tensor, *, max_new_tokens: int, repetition_penalty: float = 1.0, **rest: Any
    ) -> torch.Tensor:
        (ids,) = input_ids.tolist()
        for _ in range(max_new_tokens):
            logits = self._logits(ids)[-1]
            known = np.unique(ids)
            factor = np.where(logits[known] > 0, 1 / repetition_penalty, repetition_penalty)
            logits[known] *= factor
            ids = [*ids, int(logits.argmax())]
        return torch.tensor([ids])

    def _linear(self, x: np.ndarray, name: str) -> np.ndarray:
        y = x @ self._weights[f"{name}.weight"].T
        return y + self._weights.get(f"{name}.bias", 0.0)

    def _logits(self, ids: list[int]) -> np.ndarray:
        config = self.config
        x = self._weights["model.embed_tokens.weight"][ids]
        for layer in range(config.num_layers):
            prefix = f"model.layers.{layer}"
            normed = _norm(x, self._weights[f"{prefix}.input_layernorm.weight"], config.rms_norm_eps)
            x = x + self._attention(normed, f"{prefix}.self_attn")
            normed = _norm(x, self._weights[f"{prefix}.post_attention_layernorm.weight"], config.rms_norm_eps)
            network = self._experts if config.has_experts(layer) else self._gated
            x = x + network(normed, f"{prefix}.mlp")
        x = _norm(x, self._weights["model.norm.weight"], config.rms_norm_eps)
        head = "model.embed_tokens" if config.tie_word_embeddings else "lm_head"
        return x @ self._weights[f"{head}.weight"].T

    def _attention(self, x: np.ndarray, name: str) -> np.ndarray:
        config, n = self.config, len(x)
        group = config.num_qo_heads // config.num_kv_heads
        q, k, v = (self._linear(x, f"{name}.{p}_proj").reshape(n, -1, config.head_dim) for p in "qkv")
        if config.qk_norm:
            q = _norm(q, self._weights[f"{name}.q_norm.weight"], config.rms_norm_eps)
            k = _norm(k, self._weights[f"{name}.k_norm.weight"], config.rms_norm_eps)
        q, k = self._rotate(q), self._rotate(k)
        out = np.empty_like(q)
        for head in range(config.num_qo_heads):
            scores = q[:, head] @ k[:, head // group].T * config.head_dim**-0.5
            scores[np.triu_indices(n, 1)] = -np.inf
            out[:, head] = _softmax(scores) @ v[:, head // group]
        return self._linear(out.reshape(n, -1), f"{name}.o_proj")

    def _rotate(self, x: np.ndarray) -> np.ndarray:
        cos, sin = np.split(self._cos_sin[: len(x), None], 2, axis=-1)
        first, second = np.split(x, 2, axis=-1)
        return np.concatenate((first * cos - second * sin, second * cos + first * sin), axis=-1)

    def _gated(self, x: np.ndarray, name: str) -> np.ndarray:
        gate = self._linear(x, f"{name}.gate_proj")
        return self._linear(
            gate / (1 + np.exp(-gate)) * self._linear(x, f"{name}.up_proj"), f"{name}.down_proj"
        )

    def _experts(self, x: np.ndarray, name: str) -> np.ndarray:
        probs = _softmax(self._linear(x, f"{name}.gate"))
        out = np.zeros_like(x)
        for row in range(len(x)):
            best = np.argsort(-probs[row], kind="stable")[: self.config.num_experts_per_tok]
            shares = probs[row, best]
            if self.config.norm_topk_prob:
                shares = shares / shares.sum()
            for expert, share in zip(best, shares, strict=True):
                out[row] += share * self._gated(x[row], f"{name}.experts.{expert}")
        return out
