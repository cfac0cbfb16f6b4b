"""Rotary position embedding: pairs of a head's dimensions turn by angles that grow with the position."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from .base import StateLessOP

if TYPE_CHECKING:
    from ..models.config import RotaryConfig


def apply_rope(x: torch.Tensor, positions: torch.Tensor, cos_sin: torch.Tensor) -> torch.Tensor:
    """Rotate heads to their positions: dimension i turns together with i + head_dim / 2.

    Args:
        x: [N, heads, head_dim].
        positions: int [N].
        cos_sin: float32 [max_position, head_dim], cosines and then sines of the head_dim / 2 angles.

    Returns:
        [N, heads, head_dim] in x's dtype, computed in float32.
    """
    cos, sin = cos_sin.index_select(0, positions).unsqueeze(1).chunk(2, dim=-1)
    x1, x2 = x.float().chunk(2, dim=-1)
    return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1).to(x.dtype)


def inverse_frequencies(head_dim: int, base: float) -> torch.Tensor:
    """Radians a position of each pair, float32 [head_dim / 2] on the CPU: base^(-2i / head_dim)."""
    # The device is named: under `torch.device("meta")`, where models are built, a table would have no values.
    exponents = torch.arange(0, head_dim, 2, dtype=torch.float32, device="cpu") / head_dim
    return 1.0 / base**exponents


def make_cos_sin(frequencies: torch.Tensor, max_position: int) -> torch.Tensor:
    """Table of cosines and sines, float32 [max_position, 2 * len(frequencies)]."""
    positions = torch.arange(max_position, dtype=torch.float32, device="cpu")
    angles = positions[:, None] * frequencies[None, :]
    return torch.cat((angles.cos(), angles.sin()), dim=-1)


def llama3_frequencies(
    inverse: torch.Tensor,
    factor: float,
    low_freq_factor: float,
    high_freq_factor: float,
    original_max_position: int,
) -> torch.Tensor:
    """Llama 3's scaling: slow pairs turn `factor` times slower, fast ones as before, with a ramp between.

    A pair is slow or fast by how many turns it makes within the original context.
    """
    turns = original_max_position * inverse / (2 * math.pi)
    ramp = ((turns - low_freq_factor) / (high_freq_factor - low_freq_factor)).clamp(0, 1)
    return inverse / factor * (1 - ramp) + inverse * ramp


def yarn_cos_sin(
    head_dim: int,
    max_position: int,
    base: float,
    factor: float,
    original_max_position: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    attention_factor: float | None = None,
) -> torch.Tensor:
    """YaRN's table: slow pairs are stretched by `factor`, fast ones kept, and all of it scaled.

    Args:
        beta_fast, beta_slow: turns within the original context from which a pair is fast, up to which slow.
        attention_factor: scale of cosines and sines, so that attention stays as sharp over a longer context;
            None: 0.1 ln(factor) + 1, the paper's value (https://arxiv.org/abs/2309.00071).

    Returns:
        float32 [max_position, head_dim].
    """

    def dimension_of(turns: float) -> float:
        return head_dim * math.log(original_max_position / (turns * 2 * math.pi)) / (2 * math.log(base))

    if attention_factor is None:
        attention_factor = 0.1 * math.log(factor) + 1 if factor > 1 else 1.0
    inverse = inverse_frequencies(head_dim, base)
    low = max(math.floor(dimension_of(beta_fast)), 0)
    high = min(math.ceil(dimension_of(beta_slow)), head_dim - 1)
    indices = torch.arange(head_dim // 2, dtype=torch.float32, device="cpu")
    ramp = ((indices - low) / max(high - low, 0.001)).clamp(0, 1)
    frequencies = inverse / factor * ramp + inverse * (1 - ramp)
    return make_cos_sin(frequencies, max_position) * attention_factor


def cos_sin_table(config: RotaryConfig) -> torch.Tensor:
    """The table that a model's config asks for, float32 [config.max_position, config.head_dim] on the CPU.

    Raises:
        ValueError: the config's kind of scaling is unknown.
    """
    scaling = config.scaling
    if config.kind == "default":
        return make_cos_sin(inverse_frequencies(config.head_dim, config.base), config.max_position)
    if config.kind == "llama3":
        frequencies = llama3_frequencies(
            inverse_frequencies(config.head_dim, config.base),
            factor=scaling["factor"],
            low_freq_factor=scaling["low_freq_factor"],
            high_freq_factor=scaling["high_freq_factor"],
            original_max_position=int(scaling["original_max_position_embeddings"]),
        )
        return make_cos_sin(frequencies, config.max_position)
    if config.kind == "yarn":
        return yarn_cos_sin(
            config.head_dim,
            config.max_position,
            config.base,
            factor=scaling["factor"],
            original_max_position=int(scaling["original_max_position_embeddings"]),
            beta_fast=scaling.get("beta_fast", 32.0),
            beta_slow=scaling.get("beta_slow", 1.0),
            attention_factor=scaling.get("attention_factor"),
        )
    raise ValueError(f"unknown kind of rope scaling: {config.kind!r}")


class RotaryEmbedding(StateLessOP):
    """Applies one model's table. All its layers share one."""

    def __init__(self, config: RotaryConfig, device: torch.device) -> None:
        self._cos_sin = cos_sin_table(config).to(device)

    def forward(self, x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        """Rotate x [N, heads, head_dim] to positions, int [N]."""
        return apply_rope(x, positions, self._cos_sin)
