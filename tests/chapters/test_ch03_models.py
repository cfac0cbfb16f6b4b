"""Chapter 3: weights merged while they are read, and the residual stream through a layer. The page shows some
of these tests.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from minisgl.models import ModelConfig, create_model, fill_model, load_weights, merge_projections
from minisgl.models.decoder import DecoderLayer
from minisgl.models.tiny import hf_config_dict, tiny_config, tiny_state_dict

CPU = torch.device("cpu")
CONFIG = tiny_config()
WEIGHTS = tiny_state_dict(CONFIG, seed=0)
ATTN = "model.layers.0.self_attn"
Weights = dict[str, torch.Tensor]


def filled(weights: Weights, config: ModelConfig = CONFIG) -> Weights:
    """The weights of a model that was loaded from these."""
    model = create_model(config, CPU, torch.float32)
    pairs = load_weights(weights, CPU, torch.float32)
    fill_model(model, pairs, tied=config.tie_word_embeddings, origin="the file")
    return model.state_dict()


def shuffled(weights: Weights, seed: int) -> Weights:
    names = list(weights)
    random.Random(seed).shuffle(names)
    return {name: weights[name] for name in names}


def test_any_order_in_the_file_gives_the_same_model() -> None:
    expected = filled(WEIGHTS)
    for seed in range(5):
        given = filled(shuffled(WEIGHTS, seed))
        assert all(torch.equal(given[name], expected[name]) for name in expected)


def test_a_group_is_given_before_the_next_tensor_is_read() -> None:
    read: list[str] = []

    def file() -> Iterator[tuple[str, torch.Tensor]]:
        for part in ("v", "k", "q", "o"):
            read.append(part)
            yield f"{ATTN}.{part}_proj.weight", WEIGHTS[f"{ATTN}.{part}_proj.weight"]

    pairs = merge_projections(file())
    assert next(pairs)[0] == f"{ATTN}.qkv_proj.weight"
    assert read == ["v", "k", "q"]  # o is still in the file


def test_rows_are_q_k_v_from_top_to_bottom() -> None:
    merged = filled(WEIGHTS)[f"{ATTN}.qkv_proj.weight"]
    q, k, v = merged.split([64, 32, 32])  # 4 query and 2 key/value heads of 16
    for part, rows in (("q", q), ("k", k), ("v", v)):
        assert torch.equal(rows, WEIGHTS[f"{ATTN}.{part}_proj.weight"])


def test_one_product_does_the_work_of_three() -> None:
    x = torch.rand(5, CONFIG.hidden_size)
    together = x @ filled(WEIGHTS)[f"{ATTN}.qkv_proj.weight"].T
    apart = [x @ WEIGHTS[f"{ATTN}.{part}_proj.weight"].T for part in ("q", "k", "v")]
    assert torch.allclose(together, torch.cat(apart, dim=1), atol=1e-6)


def test_weights_and_biases_are_groups_of_their_own() -> None:
    config = tiny_config("qwen2")
    given = filled(shuffled(tiny_state_dict(config, seed=0), seed=1), config)
    assert given[f"{ATTN}.qkv_proj.weight"].shape == (128, 64)
    assert given[f"{ATTN}.qkv_proj.bias"].shape == (128,)


def test_half_a_group_is_named() -> None:
    half = {name: tensor for name, tensor in WEIGHTS.items() if name != f"{ATTN}.q_proj.weight"}
    with pytest.raises(ValueError, match=r"qkv_proj\.weight \(has only k_proj, v_proj\)"):
        filled(half)


def test_a_model_has_no_memory_before_it_is_loaded() -> None:
    weights = create_model(CONFIG, CPU, torch.float32).state_dict()
    assert {tensor.device.type for tensor in weights.values()} == {"meta"}
    assert sum(tensor.numel() for tensor in weights.values()) == 106_880


def test_loading_puts_tensors_in_place_and_copies_none() -> None:
    name = "model.norm.weight"
    assert filled(WEIGHTS)[name].data_ptr() == WEIGHTS[name].data_ptr()


def test_head_dim_is_a_setting_of_its_own() -> None:
    given = hf_config_dict(tiny_config()) | {"hidden_size": 1024, "num_attention_heads": 16}
    assert ModelConfig.from_hf(given | {"head_dim": 128}).head_dim == 128
    assert ModelConfig.from_hf(given | {"head_dim": None}).head_dim == 64


def test_a_tied_model_ignores_a_second_copy_of_the_head() -> None:
    head = {"lm_head.weight": WEIGHTS["model.embed_tokens.weight"].clone()}
    assert "lm_head.weight" not in filled(WEIGHTS | head)
    untied = tiny_config(tie_word_embeddings=False)
    assert "lm_head.weight" in filled(WEIGHTS | head, untied)


def test_adding_late_is_adding() -> None:
    def norm(x: float, residual: float | None = None) -> tuple[float, float]:
        total = x if residual is None else x + residual
        return total / 2, total  # a norm that halves

    layer = SimpleNamespace(
        input_layernorm=SimpleNamespace(forward=norm),
        self_attn=SimpleNamespace(forward=lambda x: 10 * x),
        post_attention_layernorm=SimpleNamespace(forward=norm),
        mlp=SimpleNamespace(forward=lambda x: 6 * x),
    )
    x, residual = 1.0, None
    for _ in range(3):
        x, residual = DecoderLayer.forward(layer, x, residual)  # type: ignore[arg-type]
    late, _ = norm(x, residual)

    stream = 1.0  # as textbooks have it
    for _ in range(3):
        stream = stream + 10 * (stream / 2)
        stream = stream + 6 * (stream / 2)
    assert late == stream / 2
