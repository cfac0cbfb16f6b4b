"""Which experts a token goes through, and how their weights are loaded."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.models.weight import load_weights, stack_experts
from minisgl.moe import TorchMoe, create_moe_backend, select_experts

CPU = torch.device("cpu")
LOGITS = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(-3, 3), min_size=n, max_size=n), min_size=1, max_size=4)
)


@settings(deadline=None)
@given(LOGITS, st.integers(1, 3), st.booleans())
def test_select_experts_is_a_softmax_over_all_then_the_largest(
    logits: list[list[int]], top_k: int, renormalize: bool
) -> None:
    top_k = min(top_k, len(logits[0]))
    weights, ids = select_experts(torch.tensor(logits, dtype=torch.float32), top_k, renormalize)
    assert weights.dtype == torch.float32 and ids.dtype == torch.int32
    assert weights.shape == ids.shape == (len(logits), top_k)
    for row, row_weights, row_ids in zip(logits, weights, ids.tolist(), strict=True):
        probs = torch.tensor(row, dtype=torch.float64).softmax(0)
        best = sorted(range(len(row)), key=lambda i: (-row[i], i))[:top_k]
        assert row_ids == best, "equal ones: the lower id first"
        expected = probs[best] / (probs[best].sum() if renormalize else 1)
        torch.testing.assert_close(row_weights, expected.float())


def test_logits_of_half_precision_are_normalized_in_float32() -> None:
    logits = torch.tensor([[0.1, 0.2, 0.3, 9.0]], dtype=torch.bfloat16)
    weights, _ = select_experts(logits, 2, renormalize=False)
    torch.testing.assert_close(weights, logits.float().softmax(-1)[:, [3, 2]])


def test_the_sum_of_the_chosen_experts() -> None:
    """Against the definition, token by token."""
    generator = torch.Generator().manual_seed(0)
    x, logits = (torch.randn(7, n, generator=generator) for n in (12, 5))
    w1, w2 = torch.randn(5, 20, 12, generator=generator), torch.randn(5, 12, 10, generator=generator)
    out = TorchMoe().forward(x, w1, w2, logits, topk=2, renormalize=False)
    for token, result, row in zip(x, out, logits.softmax(-1), strict=True):
        expected = torch.zeros(12)
        for expert in row.topk(2).indices.tolist():
            gate, up = (w1[expert] @ token).chunk(2)
            expected += row[expert] * (w2[expert] @ (torch.nn.functional.silu(gate) * up))
        torch.testing.assert_close(result, expected)


def test_backends_by_name() -> None:
    assert isinstance(create_moe_backend("auto", CPU), TorchMoe)
    with pytest.raises(ValueError, match="moe_backend must be one of auto, torch, fused, not 'x'"):
        create_moe_backend("x", CPU)


def experts(layer: int, count: int) -> dict[str, torch.Tensor]:
    shapes = {"gate": (3, 4), "up": (3, 4), "down": (4, 3)}
    return {
        f"l.{layer}.mlp.experts.{i}.{part}_proj.weight": torch.rand(shape)
        for i in range(count)
        for part, shape in shapes.items()
    }


def test_experts_are_stacked_in_their_order_however_they_come() -> None:
    parts = experts(0, 12) | experts(1, 12)
    names = list(parts)
    random.Random(0).shuffle(names)
    stacked = dict(load_weights({name: parts[name] for name in names}, CPU, torch.float32, num_experts=12))
    assert sorted(stacked) == [f"l.{i}.mlp.experts.{w}_proj" for i in (0, 1) for w in ("down", "gate_up")]
    for layer in (0, 1):
        for i in range(12):
            gate, up, down = (
                parts[f"l.{layer}.mlp.experts.{i}.{w}_proj.weight"] for w in ("gate", "up", "down")
            )
            assert torch.equal(stacked[f"l.{layer}.mlp.experts.gate_up_proj"][i], torch.cat((gate, up)))
            assert torch.equal(stacked[f"l.{layer}.mlp.experts.down_proj"][i], down)


def test_a_stack_is_yielded_when_it_is_complete_and_others_pass_at_once() -> None:
    parts = [(f"e.experts.{i}.down_proj.weight", torch.rand(2, 2)) for i in (2, 0, 1)]
    norm = ("norm.weight", torch.rand(2))
    pulled: list[str] = []

    def pull():
        for name, tensor in [*parts, norm]:
            pulled.append(name)
            yield name, tensor

    stream = stack_experts(pull(), 3)
    assert next(stream)[0] == "e.experts.down_proj" and len(pulled) == 3
    assert next(stream)[1] is norm[1]
    assert list(stream) == []


def test_bad_experts_are_named() -> None:
    def load(parts: dict[str, torch.Tensor]) -> None:
        list(load_weights(parts, CPU, torch.float32, num_experts=6))

    parts = experts(3, 6)
    for i in (1, 2, 5):
        del parts[f"l.3.mlp.experts.{i}.down_proj.weight"]
    with pytest.raises(ValueError, match=r"l\.3\.mlp\.experts\.down_proj \(experts 1-2, 5\)"):
        load(parts)
    with pytest.raises(ValueError, match=r"holds l\.0\.mlp\.experts\.6\..*, but the config has 6 experts"):
        load(experts(0, 7))
    parts = experts(0, 6) | {"l.0.mlp.experts.4.down_proj.weight": torch.rand(4, 2)}
    with pytest.raises(ValueError, match=r"experts\.4\.down_proj\.weight has the shape \(4, 2\)"):
        load(parts)
