"""Chapter 2: what inference needs of a layer, beside transformers' layers.

One decoder layer is built on the `meta` device, where weights have names and shapes but no memory.

    python examples/ch02_layers.py
"""

import torch
from transformers import Qwen3Config
from transformers.models.qwen3 import modeling_qwen3 as hf

from minisgl.layers import RMSNorm, RotaryEmbedding
from minisgl.models.decoder import DecoderLayer
from minisgl.models.tiny import tiny_config


def main() -> None:
    config = tiny_config()
    rotary = RotaryEmbedding(config.rotary_config, torch.device("cpu"))
    with torch.device("meta"):
        layer = DecoderLayer(config, 0, rotary)
    for name, weight in layer.state_dict().items():
        print(f"{name:<32} {tuple(weight.shape)}")

    torch.manual_seed(0)
    x = torch.randn(5, config.hidden_size)
    norm, hf_norm = RMSNorm(config.hidden_size, 1e-6), hf.Qwen3RMSNorm(config.hidden_size, 1e-6)
    norm.weight = torch.rand(config.hidden_size)
    hf_norm.weight.data.copy_(norm.weight)
    difference = (norm.forward(x) - hf_norm(x)).abs().max().item()

    heads, positions = torch.randn(5, config.num_qo_heads, config.head_dim), torch.tensor([0, 7, 7, 100, 2])
    hf_config = Qwen3Config(
        head_dim=config.head_dim, rope_parameters={"rope_type": "default", "rope_theta": 10000.0}
    )
    cos, sin = hf.Qwen3RotaryEmbedding(hf_config)(heads, positions[None])
    expected, _ = hf.apply_rotary_pos_emb(heads[None].transpose(1, 2), heads[None].transpose(1, 2), cos, sin)
    turned = rotary.forward(heads, positions)
    difference = max(difference, (turned - expected[0].transpose(0, 1)).abs().max().item())
    print("RMSNorm and RoPE: max difference to transformers", difference)


if __name__ == "__main__":
    main()
