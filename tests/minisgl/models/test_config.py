"""Reading `config.json`, as written by this and by earlier versions of transformers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from minisgl.models.config import ModelConfig, RotaryConfig
from minisgl.models.tiny import hf_config_dict, tiny_config


def hf(**changes: Any) -> dict[str, Any]:
    return {**hf_config_dict(tiny_config()), **changes}


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama", "mistral", "qwen3_moe"])
def test_round_trip(arch: str) -> None:
    scaling = {"factor": 2.0, "original_max_position_embeddings": 1024.0}
    for rotary in (RotaryConfig(16, 2048, 1e6), RotaryConfig(16, 2048, 1e4, "yarn", scaling)):
        config = tiny_config(arch, rotary_config=rotary, eos_token_ids=(5, 7), dtype=torch.bfloat16)
        assert ModelConfig.from_hf(hf_config_dict(config)) == config


def test_qwen3_0_6b() -> None:
    """The published config of Qwen3-0.6B: head_dim is not hidden_size / heads."""
    config = ModelConfig.from_hf(
        {
            "architectures": ["Qwen3ForCausalLM"],
            "attention_bias": False,
            "eos_token_id": 151645,
            "head_dim": 128,
            "hidden_act": "silu",
            "hidden_size": 1024,
            "intermediate_size": 3072,
            "max_position_embeddings": 40960,
            "num_attention_heads": 16,
            "num_hidden_layers": 28,
            "num_key_value_heads": 8,
            "rms_norm_eps": 1e-06,
            "rope_scaling": None,
            "rope_theta": 1000000,
            "sliding_window": None,
            "tie_word_embeddings": True,
            "torch_dtype": "bfloat16",
            "use_sliding_window": False,
            "vocab_size": 151936,
        }
    )
    assert (config.head_dim, config.hidden_size // config.num_qo_heads) == (128, 64)
    assert config.kv_elements_per_token * config.dtype.itemsize == 114688
    assert config.rotary_config == RotaryConfig(128, 40960, 1e6)
    assert config.eos_token_ids == (151645,) and config.qk_norm and not config.qkv_bias


def test_defaults() -> None:
    settings = hf(architectures=["LlamaForCausalLM"], model_type="llama")
    for name in ("head_dim", "num_key_value_heads", "rope_parameters", "eos_token_id", "dtype"):
        del settings[name]
    config = ModelConfig.from_hf(settings)
    assert (config.head_dim, config.num_kv_heads) == (16, 4)
    assert config.rotary_config.base == 10000.0
    assert config.eos_token_ids == () and config.dtype == torch.float32


def test_biases() -> None:
    def biases(architecture: str, attention_bias: bool) -> tuple[bool, bool]:
        config = ModelConfig.from_hf(hf(architectures=[architecture], attention_bias=attention_bias))
        return config.qkv_bias, config.o_bias

    assert biases("Qwen2ForCausalLM", False) == (True, False)
    assert biases("LlamaForCausalLM", False) == (False, False)
    assert biases("LlamaForCausalLM", True) == (True, True)
    assert biases("Qwen3ForCausalLM", True) == (True, True)
    assert biases("Qwen2ForCausalLM", True) == (True, False), "transformers reads no such entry"
    assert biases("MistralForCausalLM", True) == (False, False)
    for architecture, expected in (("LlamaForCausalLM", True), ("Qwen3ForCausalLM", False)):
        assert ModelConfig.from_hf(hf(architectures=[architecture], mlp_bias=True)).mlp_bias == expected


def test_old_style_scaling() -> None:
    scaling = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
    settings = hf(rope_scaling=scaling, rope_theta=5000.0)
    del settings["rope_parameters"]
    rotary = ModelConfig.from_hf(settings).rotary_config
    assert (rotary.kind, rotary.base, rotary.scaling["factor"]) == ("yarn", 5000.0, 4.0)
    assert rotary.max_position == 4096, "the config gives the context before stretching"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architectures": ["GPT2LMHeadModel"]}, "GPT2LMHeadModel is not supported; supported are Llama"),
        ({"architectures": None}, "not supported"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"quantization_config": {"bits": 4}}, "quantized"),
        ({"sliding_window": 4096, "use_sliding_window": True}, "sliding window"),
        ({"layer_types": ["full_attention", "sliding_attention"]}, "sliding window"),
        ({"partial_rotary_factor": 0.25}, "partial_rotary_factor"),
        ({"rope_parameters": {"rope_type": "longrope", "rope_theta": 1e4}}, "longrope"),
        ({"rope_parameters": {"rope_type": "llama3", "factor": 8.0}}, "low_freq_factor, high_freq_factor"),
        ({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.5}}, "partial_rotary"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 4.0, "mscale": 0.7}}, "mscale"),
        ({"dtype": "int3"}, "int3"),
    ],
)
def test_what_cannot_be_served_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_hf(hf(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_attention_heads": 0}, "num_attention_heads must be an integer of at least 1, not 0"),
        ({"num_attention_heads": 3}, "3 query heads cannot share 2"),
        ({"num_hidden_layers": "2"}, "num_layers .* not '2'"),
        ({"num_hidden_layers": 0}, "num_layers"),
        ({"hidden_size": None}, "hidden_size .* not None"),
        ({"vocab_size": -1}, "vocab_size"),
        ({"vocab_size": True}, "vocab_size"),
        ({"intermediate_size": 1.5}, "intermediate_size"),
        ({"head_dim": 15}, "head_dim must be even"),
        ({"rms_norm_eps": None}, "rms_norm_eps"),
        ({"rms_norm_eps": -1}, "rms_norm_eps"),
        ({"max_position_embeddings": 0}, "max_position"),
        ({"max_position_embeddings": 10**15}, "too many"),
        ({"tie_word_embeddings": "false"}, "tie_word_embeddings must be true or false"),
        ({"eos_token_id": [1, None]}, "end-of-sequence"),
        ({"eos_token_id": "x"}, "end-of-sequence"),
        ({"eos_token_id": 1.5}, "end-of-sequence"),
        ({"dtype": ["float32"]}, r"dtype \['float32'\] is not supported"),
        ({"num_hidden_layers": 10**9}, "1000 at most"),
        ({"architectures": [["x"]]}, "not supported"),
        ({"rope_parameters": [1]}, "must be an object"),
        ({"rope_parameters": None, "rope_scaling": "yarn"}, "must be an object"),
        ({"rope_parameters": {"rope_type": ["yarn"]}}, "not supported"),
        ({"rope_parameters": {"rope_theta": -1}}, "rope_theta"),
        ({"rope_parameters": {"rope_theta": "x"}}, "rope_theta"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 0}}, "factor"),
        (
            {"rope_parameters": {"rope_type": "yarn", "factor": 2, "rope_theta": 1.0}},
            "rope_theta must be above 1",
        ),
        ({"rope_parameters": {"rope_type": "yarn", "factor": "4"}}, "factor"),
        ({"rope_parameters": {"rope_type": "yarn", "factor": float("nan")}}, "factor"),
        (
            {
                "rope_parameters": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 4.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 64,
                }
            },
            "low_freq_factor 4.0 must be below",
        ),
    ],
)
def test_values_that_no_model_has_are_named(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(hf(**changes)))
    with pytest.raises(ValueError, match=rf"config\.json: .*{message}"):
        ModelConfig.from_folder(tmp_path)


def moe(**changes: Any) -> dict[str, Any]:
    return {**hf_config_dict(tiny_config("qwen3_moe")), **changes}


def test_layers_with_experts() -> None:
    def layers(**changes: Any) -> list[int]:
        config = ModelConfig.from_hf(moe(num_hidden_layers=6, **changes))
        assert config.is_moe == any(config.has_experts(i) for i in range(6))
        return [i for i in range(6) if config.has_experts(i)]

    assert layers() == [0, 1, 2, 3, 4, 5]
    assert layers(decoder_sparse_step=2) == [1, 3, 5]
    assert layers(decoder_sparse_step=2, mlp_only_layers=[0, 3]) == [1, 5]
    assert layers(mlp_only_layers=None) == [0, 1, 2, 3, 4, 5]
    assert layers(decoder_sparse_step=9) == layers(num_experts=0) == []
    assert not tiny_config().is_moe


def test_number_of_experts_under_its_other_name() -> None:
    settings = moe(num_local_experts=4)
    del settings["num_experts"]
    assert ModelConfig.from_hf(settings).num_experts == 4


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_experts": -1}, "num_experts"),
        ({"num_experts": None}, "num_experts"),
        ({"num_experts_per_tok": 9}, "num_experts_per_tok 9 is above the 8 experts"),
        ({"num_experts_per_tok": 0}, "num_experts_per_tok"),
        ({"moe_intermediate_size": "48"}, "moe_intermediate_size"),
        ({"norm_topk_prob": 1}, "norm_topk_prob must be true or false"),
        ({"decoder_sparse_step": 0}, "decoder_sparse_step"),
        ({"mlp_only_layers": 3}, "mlp_only_layers must be a list"),
        ({"mlp_only_layers": ["0"]}, "mlp_only_layers must be integers"),
    ],
)
def test_settings_of_experts_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelConfig.from_hf(moe(**changes))


def test_missing_entry_is_named() -> None:
    settings = hf()
    del settings["intermediate_size"]
    with pytest.raises(ValueError, match="intermediate_size"):
        ModelConfig.from_hf(settings)


def test_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        ModelConfig.from_folder(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(ValueError, match=r"config\.json is not valid JSON"):
        ModelConfig.from_folder(tmp_path)
    (tmp_path / "config.json").write_text("[]")
    with pytest.raises(ValueError, match="JSON object"):
        ModelConfig.from_folder(tmp_path)
    config = tiny_config(eos_token_ids=(2,))
    (tmp_path / "config.json").write_text(json.dumps(hf_config_dict(config)))
    assert ModelConfig.from_folder(tmp_path) == config
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [3, 4]}')
    assert ModelConfig.from_folder(tmp_path) == replace(config, eos_token_ids=(3, 4))
