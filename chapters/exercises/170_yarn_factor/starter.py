import math

import torch

from minisgl.layers.rotary import inverse_frequencies, make_cos_sin


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
    """YaRN's table: slow pairs are stretched by `factor`, fast ones kept.

    Returns:
        float32 [max_position, head_dim], cosines and then sines.
    """

    def dimension_of(turns: float) -> float:
        return head_dim * math.log(original_max_position / (turns * 2 * math.pi)) / (2 * math.log(base))

    inverse = inverse_frequencies(head_dim, base)
    low = max(math.floor(dimension_of(beta_fast)), 0)
    high = min(math.ceil(dimension_of(beta_slow)), head_dim - 1)
    indices = torch.arange(head_dim // 2, dtype=torch.float32, device="cpu")
    ramp = ((indices - low) / max(high - low, 0.001)).clamp(0, 1)
    frequencies = inverse / factor * ramp + inverse * (1 - ramp)
    return make_cos_sin(frequencies, max_position)
