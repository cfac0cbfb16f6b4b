"""Logits and tokens equal those of transformers, for every architecture and however the tokens arrive."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from minisgl.core import Context
from minisgl.layers import RotaryEmbedding
from minisgl.models import create_model
from minisgl.models.config import ModelConfig, RotaryConfig
from minisgl.models.decoder import DecoderLayer
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

YARN = RotaryConfig(16, 256, 1e4, "yarn", {"factor": 4.0, "original_max_position_embeddings": 64.0})
YARN_GIVEN = replace(YARN, scaling={**YARN.scaling, "attention_factor": 0.9})
LLAMA3 = RotaryConfig(
    16,
    256,
    1e4,
    "llama3",
    {
        "factor": 8.0,
        "original_max_position_embeddings": 64.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    },
)
CONFIGS = {
    "qwen3": tiny_config("qwen3"),
    "qwen2": tiny_config("qwen2"),
    "llama": tiny_config("llama"),
    "mistral": tiny_config("mistral"),
    "qwen3_moe": tiny_config("qwen3_moe"),
    "qwen3_moe, not renormalized": tiny_config("qwen3_moe", norm_topk_prob=False, num_experts_per_tok=3),
    "qwen3_moe, every second layer": tiny_config("qwen3_moe", num_layers=4, decoder_sparse_step=2),
    "qwen3_moe, some layers without": tiny_config("qwen3_moe", num_layers=3, mlp_only_layers=(0, 2)),
    "untied": tiny_config("qwen3", tie_word_embeddings=False),
    "llama with biases": tiny_config("llama", qkv_bias=True, o_bias=True, mlp_bias=True),
    "no grouping": tiny_config("llama", num_kv_heads=4),
    "head_dim is not hidden / heads": tiny_config("qwen3", num_qo_heads=6, num_kv_heads=2),
    "qwen3 yarn": tiny_config("qwen3", rotary_config=YARN),
    "qwen3 yarn, factor given": tiny_config("qwen3", rotary_config=YARN_GIVEN),
    "llama 3.1": tiny_config("llama", rotary_config=LLAMA3),
}


def logits_of(model: torch.nn.Module, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        return model(torch.tensor([ids])).logits[0, -1]


def close(ours: torch.Tensor, theirs: torch.Tensor) -> bool:
    return (ours - theirs).abs().max().item() <= 1e-5


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("page_size", [1, 4, 16])
def test_logits(name: str, page_size: int, driver, peer) -> None:
    """Prefill, then a decode beside a prefix hit and a new prompt, then decodes."""
    run = driver(CONFIGS[name], page_size)
    model = peer(CONFIGS[name], run.weights)
    first = run.start(prompt(0, 37), new=4)
    assert close(run.step([first])[0], logits_of(model, prompt(0, 37)))

    shared = prompt(0, 32) + prompt(5, 9)
    reqs = [first, run.start(shared, new=4, like=first, cached=32), run.start(prompt(1, 3), new=4)]
    for _ in range(3):
        known = [req.input_ids.tolist() for req in reqs]
        logits = run.step(reqs)
        for ours, ids in zip(logits, known, strict=True):
            assert close(ours, logits_of(model, ids))


@pytest.mark.parametrize("name", ["qwen3", "qwen2", "llama", "mistral", "qwen3_moe"])
def test_greedy_tokens(name: str, driver, peer) -> None:
    run = driver(CONFIGS[name], page_size=4)
    prompts = [prompt(0, 5), prompt(1, 4), prompt(2, 17)]
    ours = run.generate([run.start(ids, new=12) for ids in prompts])
    model = peer(CONFIGS[name], run.weights)
    for ids, tokens in zip(prompts, ours, strict=True):
        output = model.generate(torch.tensor([ids]), max_new_tokens=12, do_sample=False)
        assert output[0, len(ids) :].tolist() == tokens


def test_a_layer_on_meta() -> None:
    config = tiny_config()
    with torch.device("meta"):
        layer = DecoderLayer(config, 0, RotaryEmbedding(config.rotary_config, torch.device("cpu")))
    shapes = {name: tuple(weight.shape) for name, weight in layer.state_dict().items()}
    assert len(shapes) == 8
    assert shapes["self_attn.qkv_proj.weight"] == (128, 64)
    assert shapes["mlp.gate_up_proj.weight"] == (256, 64)
    assert shapes["self_attn.k_norm.weight"] == (16,)
    assert all(weight.is_meta for weight in layer.state_dict().values())


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama"])
def test_weights_have_the_models_dtype_and_no_memory(arch: str) -> None:
    model = create_model(tiny_config(arch), torch.device("cpu"), torch.bfloat16)
    weights = model.state_dict()
    assert all(weight.is_meta and weight.dtype == torch.bfloat16 for weight in weights.values())
    total = sum(weight.numel() for weight in tiny_state_dict(tiny_config(arch), 0).values())
    assert sum(weight.numel() for weight in weights.values()) == total
    assert torch.get_default_dtype() == torch.float32


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (
            ModelConfig(
                architecture="Qwen3ForCausalLM",
                num_layers=28,
                hidden_size=1024,
                num_qo_heads=16,
                num_kv_heads=8,
                head_dim=128,
                intermediate_size=3072,
                vocab_size=151936,
                rms_norm_eps=1e-6,
                rotary_config=RotaryConfig(128, 16, 1e6),
                tie_word_embeddings=True,
                qk_norm=True,
            ),
            596_049_920,
        ),
        (
            ModelConfig(
                architecture="Qwen2ForCausalLM",
                num_layers=24,
                hidden_size=896,
                num_qo_heads=14,
                num_kv_heads=2,
                head_dim=64,
                intermediate_size=4864,
                vocab_size=151936,
                rms_norm_eps=1e-6,
                rotary_config=RotaryConfig(64, 16, 1e6),
                tie_word_embeddings=True,
                qkv_bias=True,
            ),
            494_032_768,
        ),
        (
            ModelConfig(
                architecture="LlamaForCausalLM",
                num_layers=32,
                hidden_size=4096,
                num_qo_heads=32,
                num_kv_heads=8,
                head_dim=128,
                intermediate_size=14336,
                vocab_size=128256,
                rms_norm_eps=1e-5,
                rotary_config=RotaryConfig(128, 16, 5e5),
            ),
            8_030_261_248,
        ),
    ],
    ids=["Qwen3-0.6B", "Qwen2.5-0.5B", "Llama-3.1-8B"],
)
def test_parameters_of_published_models(config: ModelConfig, parameters: int) -> None:
    model = create_model(config, torch.device("cpu"), torch.bfloat16)
    assert sum(weight.numel() for weight in model.state_dict().values()) == parameters


def test_parameters_of_qwen3_30b_a3b() -> None:
    config = ModelConfig(
        architecture="Qwen3MoeForCausalLM",
        num_layers=48,
        hidden_size=2048,
        num_qo_heads=32,
        num_kv_heads=4,
        head_dim=128,
        intermediate_size=6144,
        vocab_size=151936,
        rms_norm_eps=1e-6,
        rotary_config=RotaryConfig(128, 16, 1e6),
        qk_norm=True,
        num_experts=128,
        num_experts_per_tok=8,
        moe_intermediate_size=768,
    )
    weights = create_model(config, torch.device("cpu"), torch.bfloat16).state_dict()
    assert sum(weight.numel() for weight in weights.values()) == 30_532_122_624
    unused = sum(weight[8:].numel() for name, weight in weights.items() if ".experts." in name)
    assert 30_532_122_624 - unused == 3_353_032_704
    assert weights["model.layers.0.mlp.experts.gate_up_proj"].shape == (128, 1536, 2048)


def test_unknown_architecture() -> None:
    with pytest.raises(ValueError, match="MambaForCausalLM"):
        create_model(tiny_config(architecture="MambaForCausalLM"), torch.device("cpu"), torch.float32)


def test_no_context_is_left_behind(driver) -> None:
    from minisgl.core import reset_global_ctx, set_global_ctx

    run = driver(tiny_config())
    run.step([run.start(prompt(0, 3))])
    set_global_ctx(Context(page_size=1))
    reset_global_ctx()
