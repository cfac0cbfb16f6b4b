"""Models of transformers with given weights: what ours are compared with."""

from __future__ import annotations

import torch
import transformers

from minisgl.models.config import ModelConfig
from minisgl.models.tiny import hf_config_dict


def peer_model(config: ModelConfig, weights: dict[str, torch.Tensor]) -> transformers.PreTrainedModel:
    """The model of transformers with these weights, which have the names of checkpoints."""
    settings = hf_config_dict(config)
    hf_config = transformers.AutoConfig.for_model(settings.pop("model_type"), **settings)
    model = transformers.AutoModelForCausalLM.from_config(hf_config).eval()
    missing, unexpected = model.load_state_dict(stacked(weights, config), strict=False)
    assert not unexpected and set(missing) <= {"lm_head.weight"}
    return model


def stacked(weights: dict[str, torch.Tensor], config: ModelConfig) -> dict[str, torch.Tensor]:
    """The weights as modules of transformers have them: a layer's experts are one tensor."""
    result = dict(weights)
    for layer in filter(config.has_experts, range(config.num_layers)):
        mlp = f"model.layers.{layer}.mlp.experts"
        gate, up, down = (
            torch.stack([result.pop(f"{mlp}.{i}.{part}_proj.weight") for i in range(config.num_experts)])
            for part in ("gate", "up", "down")
        )
        result[f"{mlp}.gate_up_proj"], result[f"{mlp}.down_proj"] = torch.cat((gate, up), dim=1), down
    return result
