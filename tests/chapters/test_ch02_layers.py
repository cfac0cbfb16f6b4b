"""Chapter 2: what a layer is, how its weights come, and how positions turn.

The page shows some of these tests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest
import torch

from minisgl.core import Batch, Context, Req, SamplingParams, reset_global_ctx, set_global_ctx
from minisgl.layers import (
    BaseOP,
    ParallelLMHead,
    RMSNorm,
    RMSNormFused,
    RotaryEmbedding,
    VocabParallelEmbedding,
    apply_rope,
    silu_and_mul,
    yarn_cos_sin,
)
from minisgl.layers.rotary import inverse_frequencies, make_cos_sin
from minisgl.models.config import ModelConfig
from minisgl.models.decoder import DecoderLayer
from minisgl.models.tiny import tiny_config

CPU = torch.device("cpu")


def layer_on_meta(config: ModelConfig) -> DecoderLayer:
    rotary = RotaryEmbedding(config.rotary_config, CPU)
    with torch.device("meta"):
        return DecoderLayer(config, 0, rotary)


def test_a_layer_has_eight_weights() -> None:
    weights = layer_on_meta(tiny_config()).state_dict()
    assert {name.removesuffix(".weight"): tuple(weight.shape) for name, weight in weights.items()} == {
        "self_attn.qkv_proj": (128, 64),
        "self_attn.q_norm": (16,),
        "self_attn.k_norm": (16,),
        "self_attn.o_proj": (64, 64),
        "mlp.gate_up_proj": (256, 64),
        "mlp.down_proj": (64, 128),
        "input_layernorm": (64,),
        "post_attention_layernorm": (64,),
    }
    assert sum(weight.numel() for weight in weights.values()) == 37_024
    assert all(weight.is_meta for weight in weights.values())


def test_a_loaded_attribute_is_the_tensor_of_the_file() -> None:
    layer = layer_on_meta(tiny_config())
    file = {name: torch.rand(weight.shape) for name, weight in layer.state_dict().items()}
    mixing = file["self_attn.o_proj.weight"]
    layer.load_state_dict(file)
    assert layer.self_attn.o_proj.weight is mixing
    assert file == {}


@pytest.mark.parametrize(
    ("state", "error", "said"),
    [
        ({}, KeyError, "weight"),
        ({"weight": torch.ones(4), "bias": torch.ones(4)}, RuntimeError, "does not have: bias"),
        ({"weight": torch.ones(5)}, ValueError, r"weight: expected .* \(4,\), got .* \(5,\)"),
        ({"weight": torch.ones(4).double()}, ValueError, "got torch.float64"),
    ],
)
def test_what_does_not_fit_is_told_by_name(
    state: dict[str, torch.Tensor], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        RMSNorm(4, 1e-6).load_state_dict(state)


class Scaled(BaseOP):
    """One weight, one table that is none, and a number."""

    def __init__(self) -> None:
        self.weight = torch.zeros(3)
        self._table = torch.zeros(5)
        self.factor = 2


def test_a_leading_underscore_means_no_weight() -> None:
    layer = Scaled()
    assert list(layer.state_dict()) == ["weight"]
    table = layer._table
    layer.load_state_dict({"weight": torch.ones(3)})
    assert layer._table is table
    assert layer.weight.tolist() == [1, 1, 1]


def test_a_tied_head_brings_no_weight() -> None:
    embedding = VocabParallelEmbedding(10, 4)
    assert list(ParallelLMHead(10, 4, tied=None).state_dict()) == ["weight"]
    assert list(ParallelLMHead(10, 4, tied=embedding).state_dict()) == []


def test_a_table_made_under_meta_has_values() -> None:
    with torch.device("meta"):
        rotary = RotaryEmbedding(tiny_config().rotary_config, CPU)
        assert torch.empty(1).is_meta  # anything else made here has none
    assert rotary._cos_sin.device == CPU
    assert rotary._cos_sin[0].tolist() == [1.0] * 8 + [0.0] * 8
    assert rotary.state_dict() == {}  # no file could bring it


def test_the_fused_norm_returns_the_sum_too() -> None:
    norm = RMSNormFused(2, eps=0.0)
    norm.weight = torch.ones(2)
    normed, total = norm.forward(torch.tensor([[1.0, 1.0]]), torch.tensor([[2.0, 3.0]]))
    assert total.tolist() == [[3, 4]]
    assert normed[0].tolist() == pytest.approx([3 / 12.5**0.5, 4 / 12.5**0.5])
    first, itself = norm.forward(total)  # the first layer of all has nothing to add
    assert torch.equal(itself, total) and torch.equal(first, normed)


def test_silu_and_mul_by_hand() -> None:
    gate_up = torch.tensor([[1.0, 0.0, 2.0, 5.0]])  # gates 1 and 0, ups 2 and 5
    assert silu_and_mul(gate_up)[0].tolist() == pytest.approx([2 / (1 + math.exp(-1)), 0])


def table(head_dim: int = 16, base: float = 10000.0, positions: int = 2048) -> torch.Tensor:
    return make_cos_sin(inverse_frequencies(head_dim, base), positions)


def test_dimension_i_turns_with_i_plus_half() -> None:
    quarter = torch.tensor([[1.0, 1, 0, 0], [0, 1, 1, 0]])  # at position 1: 90 degrees, and 0
    x = torch.tensor([[[1.0, 2, 3, 4]]])
    assert apply_rope(x, torch.tensor([1]), quarter).tolist() == [[[-3, 2, 1, 4]]]


def neighbours(x: torch.Tensor, positions: torch.Tensor, cos_sin: torch.Tensor) -> torch.Tensor:
    """The pairs of the paper: 0 with 1, 2 with 3, ..."""
    cos, sin = cos_sin[positions].unsqueeze(1).chunk(2, dim=-1)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)


def scores(turn: Any) -> list[float]:
    """Of one query and one key: three times 3 apart, once 10 apart."""
    q, k = torch.randn(2, 1, 1, 16, generator=torch.Generator().manual_seed(0))
    found = []
    for at, seen in ((3, 0), (10, 7), (1000, 997), (10, 0)):
        turned = turn(q, torch.tensor([at]), table()), turn(k, torch.tensor([seen]), table())
        found.append((turned[0] * turned[1]).sum().item())
    return found


@pytest.mark.parametrize("turn", [apply_rope, neighbours])
def test_a_score_depends_on_the_distance_alone(turn: Any) -> None:
    first, second, third, other = scores(turn)
    assert [second, third] == pytest.approx([first, first], abs=1e-3)
    assert other != pytest.approx(first, abs=0.1)


def test_wrong_pairs_pass_the_same_test_and_give_other_scores() -> None:
    assert scores(neighbours)[0] != pytest.approx(scores(apply_rope)[0], abs=0.1)


def test_a_row_of_the_table_is_found_by_position() -> None:
    x = torch.randn(3, 2, 16)
    turned = apply_rope(x, torch.tensor([5, 0, 5]), table())
    assert torch.equal(turned[1], x[1])
    assert torch.equal(turned[2], apply_rope(x[2:], torch.tensor([5]), table())[0])


def test_a_turn_keeps_lengths() -> None:
    x = torch.randn(4, 2, 16)
    turned = apply_rope(x, torch.tensor([3, 1, 2000, 7]), table())
    assert torch.allclose(turned.norm(dim=-1), x.norm(dim=-1), atol=1e-4)


def test_the_slowest_pair_of_qwen3_takes_five_million_tokens() -> None:
    slowest = inverse_frequencies(128, 1e6)[-1].item()
    assert slowest == pytest.approx(1.2409e-6, rel=1e-4)
    assert 2 * math.pi / slowest == pytest.approx(5_063_256, rel=1e-5)


def test_yarn_keeps_fast_pairs_and_stretches_slow_ones() -> None:
    plain, original = inverse_frequencies(128, 1e6), 32_768
    row = yarn_cos_sin(128, 2, 1e6, factor=4.0, original_max_position=original)[1]
    times = torch.atan2(row[64:], row[:64]) / plain
    assert times[:24].tolist() == pytest.approx([1.0] * 24, rel=1e-4)
    assert times[40:].tolist() == pytest.approx([0.25] * 24, rel=1e-4)
    turns = original * plain / (2 * math.pi)
    assert [turns[23].item(), turns[40].item()] == pytest.approx([36.4, 0.93], rel=0.01)


@pytest.mark.parametrize(("given", "expected"), [(None, 1.13863), (1.0, 1.0), (0.8, 0.8)])
def test_yarn_scales_cosines_and_sines(given: float | None, expected: float) -> None:
    cos_sin = yarn_cos_sin(16, 64, 10000.0, factor=4.0, original_max_position=64, attention_factor=given)
    lengths = (cos_sin[:, :8] ** 2 + cos_sin[:, 8:] ** 2).sqrt()
    assert lengths.flatten().tolist() == pytest.approx([expected] * 512, abs=1e-5)
    if given is None:
        assert expected**2 == pytest.approx(1.29648, abs=1e-5)  # q and k both carry it


@dataclass
class Ends:
    """What the head asks attention's metadata for: where each request's tokens end in the row."""

    reqs: list[Req]

    def get_last_indices(self, size: int) -> torch.Tensor:
        return torch.tensor([req.extend_len for req in self.reqs[:size]]).cumsum(0) - 1


def request(length: int) -> Req:
    ids = torch.zeros(length, dtype=torch.int32)
    return Req(ids, 0, 0, 8, 0, SamplingParams(), cache_handle=None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("phase", "lengths"), [("prefill", [5, 5, 4, 15, 5]), ("decode", [1, 1, 1])])
def test_only_last_positions_get_logits(phase: Any, lengths: list[int]) -> None:
    head = ParallelLMHead(10, 4, tied=None)
    head.weight = torch.randn(10, 4)
    batch = Batch([request(length) for length in lengths], phase)
    batch.attn_metadata = Ends(batch.reqs)  # type: ignore[assignment]
    x, ctx = torch.randn(sum(lengths), 4), Context(page_size=1)
    set_global_ctx(ctx)
    try:
        with ctx.forward_batch(batch):
            logits = head.forward(x)
    finally:
        reset_global_ctx()
    last = torch.tensor(lengths).cumsum(0) - 1
    assert logits.shape == (len(lengths), 10)
    assert torch.allclose(logits, x[last] @ head.weight.T, atol=1e-6)
