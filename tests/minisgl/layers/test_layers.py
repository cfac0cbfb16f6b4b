"""Norm, rotation, gate and head, each against transformers or arithmetic."""

from __future__ import annotations

import math

import pytest
import torch
from transformers import Qwen3Config
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm, apply_rotary_pos_emb

from minisgl.attention.base import BaseAttnMetadata
from minisgl.core import Batch, Context, reset_global_ctx, set_global_ctx
from minisgl.layers import (
    ParallelLMHead,
    RMSNorm,
    RMSNormFused,
    VocabParallelEmbedding,
    apply_rope,
    silu_and_mul,
    yarn_cos_sin,
)
from minisgl.layers.rotary import cos_sin_table, inverse_frequencies, make_cos_sin
from minisgl.models.config import RotaryConfig
from minisgl.models.tiny import hf_config_dict, tiny_config


def test_rms_norm_equals_transformers() -> None:
    torch.manual_seed(0)
    x, ours, theirs = torch.randn(7, 64), RMSNorm(64, 1e-6), Qwen3RMSNorm(64, 1e-6)
    ours.weight = torch.rand(64) + 0.5
    theirs.weight.data = ours.weight
    assert (ours.forward(x) - theirs(x)).abs().max() == 0.0


def test_fused_norm_returns_the_sum() -> None:
    torch.manual_seed(0)
    x, residual = torch.randn(3, 8), torch.randn(3, 8)
    fused, plain = RMSNormFused(8, 1e-6), RMSNorm(8, 1e-6)
    fused.weight = plain.weight = torch.rand(8)
    before = residual.clone()
    normed, total = fused.forward(x, residual)
    assert torch.equal(total, x + residual) and torch.equal(normed, plain.forward(x + residual))
    assert torch.equal(residual, before), "the caller's tensor is not changed"
    normed, total = fused.forward(x)
    assert torch.equal(total, x) and torch.equal(normed, plain.forward(x))


def test_rope_equals_transformers() -> None:
    torch.manual_seed(0)
    x, positions = torch.randn(5, 4, 16), torch.tensor([9, 0, 3, 3, 700], dtype=torch.int32)
    table = make_cos_sin(inverse_frequencies(16, 10000.0), 1024)
    angles = positions[:, None].float() * inverse_frequencies(16, 10000.0)
    cos, sin = (torch.cat((f(angles), f(angles)), dim=-1)[None] for f in (torch.cos, torch.sin))
    theirs, _ = apply_rotary_pos_emb(x.transpose(0, 1)[None], x.transpose(0, 1)[None], cos, sin)
    assert (apply_rope(x, positions, table) - theirs[0].transpose(0, 1)).abs().max() == 0.0


def test_rope_of_half_precision_is_computed_in_float32() -> None:
    torch.manual_seed(0)
    x, positions = torch.randn(3, 2, 8).bfloat16(), torch.tensor([1, 50, 99])
    table = make_cos_sin(inverse_frequencies(8, 10000.0), 128)
    result = apply_rope(x, positions, table)
    assert result.dtype == torch.bfloat16
    assert torch.equal(result, apply_rope(x.float(), positions, table).bfloat16())


def test_slowest_frequency_of_qwen3() -> None:
    slowest = inverse_frequencies(128, 1e6)[-1].item()
    assert slowest == pytest.approx(1.2409e-6, rel=1e-4)
    assert 2 * math.pi / slowest == pytest.approx(5063256, rel=1e-6)


def test_tables_have_values_where_models_are_built_on_meta() -> None:
    with torch.device("meta"):
        table = cos_sin_table(RotaryConfig(head_dim=16, max_position=4, base=10000.0))
    assert table.device.type == "cpu" and table[0, :8].tolist() == [1.0] * 8


YARN = {"factor": 4.0, "original_max_position_embeddings": 64.0}
LLAMA3 = {
    "factor": 8.0,
    "original_max_position_embeddings": 64.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


@pytest.mark.parametrize(
    ("kind", "scaling"),
    [
        ("yarn", YARN),
        ("yarn", {**YARN, "factor": 1.0}),
        ("yarn", {**YARN, "attention_factor": 0.8}),
        ("yarn", {**YARN, "beta_fast": 8.0, "beta_slow": 2.0}),
        ("llama3", LLAMA3),
    ],
)
@pytest.mark.parametrize("base", [100.0, 10000.0, 1e6])
def test_scaled_tables_equal_transformers(kind: str, scaling: dict[str, float], base: float) -> None:
    rotary = RotaryConfig(head_dim=16, max_position=256, base=base, kind=kind, scaling=scaling)
    settings = hf_config_dict(tiny_config(rotary_config=rotary))
    settings["rope_parameters"]["original_max_position_embeddings"] = 64
    frequencies, factor = ROPE_INIT_FUNCTIONS[kind](Qwen3Config(**settings))
    torch.testing.assert_close(cos_sin_table(rotary), make_cos_sin(frequencies, 256) * factor)


def test_yarn_attention_factor() -> None:
    table = yarn_cos_sin(64, 8, 10000.0, factor=4.0, original_max_position=1024)
    assert table.shape == (8, 64) and table.dtype == torch.float32
    torch.testing.assert_close(table[0, :32], torch.full((32,), 1.138629))
    assert table[0, 32:].tolist() == [0.0] * 32
    assert (table[3, 32:] ** 2 + table[3, :32] ** 2).sqrt().sub(1.138629).abs().max() < 1e-5
    assert table[0, 0].item() ** 2 == pytest.approx(1.29648, rel=1e-5)


def test_unknown_scaling() -> None:
    with pytest.raises(ValueError, match="longrope"):
        cos_sin_table(RotaryConfig(16, 8, 1e4, kind="longrope"))


def test_silu_and_mul() -> None:
    x = torch.tensor([[1.0, -2.0, 3.0, 5.0]])
    expected = [1 / (1 + math.exp(-1)) * 3, -2 / (1 + math.exp(2)) * 5]
    torch.testing.assert_close(silu_and_mul(x), torch.tensor([expected]))


class Last(BaseAttnMetadata):
    def get_last_indices(self, bs: int) -> torch.Tensor:
        return torch.tensor([2, 4])[:bs]


@pytest.mark.parametrize("tied", [True, False])
def test_head_computes_last_positions_only(tied: bool) -> None:
    torch.manual_seed(0)
    embedding = VocabParallelEmbedding(10, 4)
    embedding.weight = torch.randn(10, 4)
    head = ParallelLMHead(10, 4, embedding if tied else None)
    assert list(head.state_dict()) == ([] if tied else ["weight"])
    weight = embedding.weight if tied else torch.randn(10, 4)
    if not tied:
        head.weight = weight
    x = torch.randn(5, 4)
    ctx = Context(page_size=1)
    set_global_ctx(ctx)
    try:
        for phase, rows in (("prefill", [2, 4]), ("decode", [0, 1, 2, 3, 4])):
            batch = Batch([None] * len(rows), phase)
            batch.attn_metadata = Last()
            with ctx.forward_batch(batch):
                torch.testing.assert_close(head.forward(x), x[rows] @ weight.T)
    finally:
        reset_global_ctx()


def test_embedding_takes_int32() -> None:
    embedding = VocabParallelEmbedding(10, 4)
    embedding.weight = torch.randn(10, 4)
    ids = torch.tensor([3, 3, 9], dtype=torch.int32)
    assert torch.equal(embedding.forward(ids), embedding.weight[[3, 3, 9]])
