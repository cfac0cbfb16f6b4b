"""The fused experts: how pairs are sorted into blocks, and that they compute what the reference does."""

from __future__ import annotations

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl.env import ENV
from minisgl.kernel.triton import fused_moe
from minisgl.models.tiny import prompt, tiny_config
from minisgl.moe import TorchMoe, select_experts
from minisgl.moe.fused import FusedMoe, moe_align_block_size, pick_block_size

ROUTINGS = st.integers(1, 6).flatmap(
    lambda experts: st.tuples(
        st.just(experts),
        st.integers(1, 3).flatmap(
            lambda k: st.lists(
                st.lists(st.integers(0, experts - 1), min_size=k, max_size=k), min_size=1, max_size=9
            )
        ),
    )
)


def align_by_definition(topk_ids: list[list[int]], block_size: int, num_experts: int):
    flat = [expert for row in topk_ids for expert in row]
    sorted_ids: list[int] = []
    expert_ids: list[int] = []
    for expert in range(num_experts):
        pairs = [i for i, chosen in enumerate(flat) if chosen == expert]
        while len(pairs) % block_size:
            pairs.append(len(flat))
        sorted_ids += pairs
        expert_ids += [expert] * (len(pairs) // block_size)
    return sorted_ids, expert_ids, [len(sorted_ids)]


def test_the_example_of_the_course() -> None:
    result = moe_align_block_size(torch.tensor([[1, 3], [0, 1], [1, 2]]), 2, 4)
    assert [t.tolist() for t in result] == [[2, 6, 0, 3, 4, 6, 5, 6, 1, 6], [0, 1, 1, 2, 3], [10]]
    assert all(t.dtype == torch.int32 for t in result)


@settings(deadline=None)
@given(ROUTINGS, st.integers(1, 4), st.sampled_from([torch.int32, torch.int64]))
def test_pairs_are_sorted_into_blocks_of_one_expert(routing, block_size: int, dtype: torch.dtype) -> None:
    num_experts, topk_ids = routing
    ids = torch.tensor(topk_ids, dtype=dtype)
    result = moe_align_block_size(ids, block_size, num_experts)
    assert tuple(t.tolist() for t in result) == align_by_definition(topk_ids, block_size, num_experts)
    assert all(t.dtype == torch.int32 for t in result)
    assert ids.tolist() == topk_ids


@settings(deadline=None, max_examples=25)
@given(ROUTINGS, st.sampled_from([1, 2, 4]))
def test_the_kernel_that_aligns_is_the_same(routing, block_size: int) -> None:
    """Up to the length that it gives: behind that is what nobody reads."""
    num_experts, topk_ids = routing
    result = fused_moe.align_blocks(torch.tensor(topk_ids, dtype=torch.int32), block_size, num_experts)
    sorted_ids, expert_ids, (padded,) = align_by_definition(topk_ids, block_size, num_experts)
    assert result[2].tolist() == [padded] and padded <= len(result[0])
    assert result[0][:padded].tolist() == sorted_ids
    assert result[1][: padded // block_size].tolist() == expert_ids


def test_more_pairs_than_the_kernel_reads_at_once() -> None:
    ids = torch.randint(0, 5, (700, 3), generator=torch.Generator().manual_seed(0), dtype=torch.int32)
    ours, reference = fused_moe.align_blocks(ids, 16, 7), moe_align_block_size(ids, 16, 7)
    assert torch.equal(ours[2], reference[2])
    assert torch.equal(ours[0][: len(reference[0])], reference[0])
    assert torch.equal(ours[1][: len(reference[1])], reference[1])


@settings(deadline=None, max_examples=25)
@given(
    st.integers(1, 7).flatmap(lambda n: st.lists(st.lists(st.integers(-2, 2), min_size=n, max_size=n))),
    st.integers(1, 3),
    st.booleans(),
)
def test_the_kernel_that_routes_is_the_same(logits: list[list[int]], k: int, renormalize: bool) -> None:
    """With many ties, and numbers of experts that are no powers of two."""
    if not logits:
        return
    table, k = torch.tensor(logits, dtype=torch.float32), min(k, len(logits[0]))
    ours, reference = (
        fused_moe.topk_softmax(table, k, renormalize),
        select_experts(table, k, renormalize),
    )
    torch.testing.assert_close(ours[0], reference[0])
    assert torch.equal(ours[1], reference[1])


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_logits_that_are_no_numbers_choose_experts_that_exist() -> None:
    logits = torch.tensor([[float("nan")] * 5, [float("inf")] * 5, [0.0, float("nan"), 2.0, 3.0, 4.0]])
    _, ids = fused_moe.topk_softmax(logits, 3, True)
    assert ids.min() >= 0 and ids.max() < 5


def experts(num_experts: int, hidden: int, size: int, tokens: int, dtype: torch.dtype = torch.float32):
    generator = torch.Generator().manual_seed(num_experts * 1000 + hidden + tokens)

    def random(*shape: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(shape, generator=generator) * scale).to(dtype)

    return {
        "hidden_states": random(tokens, hidden),
        "w1": random(num_experts, 2 * size, hidden, scale=hidden**-0.5),
        "w2": random(num_experts, hidden, size, scale=size**-0.5),
        "gating_output": random(tokens, num_experts),
    }


@pytest.mark.parametrize("kernels", ["auto", "torch"])
@pytest.mark.parametrize(
    ("num_experts", "topk", "hidden", "size", "tokens"),
    [(8, 2, 64, 48, 5), (5, 3, 40, 72, 1), (1, 1, 16, 16, 3), (3, 3, 130, 33, 20), (2, 1, 64, 200, 70)],
)
def test_fused_equals_torch(
    num_experts: int,
    topk: int,
    hidden: int,
    size: int,
    tokens: int,
    kernels: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In Triton's interpreter, and in torch; sizes that fill no block, experts that nobody chooses."""
    monkeypatch.setattr(ENV.KERNELS, "value", kernels)
    given = experts(num_experts, hidden, size, tokens)
    for renormalize in (True, False):
        ours = FusedMoe().forward(**given, topk=topk, renormalize=renormalize)
        reference = TorchMoe().forward(**given, topk=topk, renormalize=renormalize)
        torch.testing.assert_close(ours, reference, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(dtype: torch.dtype) -> None:
    given = experts(6, 64, 32, 9, dtype)
    ours = FusedMoe().forward(**given, topk=2, renormalize=True)
    exact = {name: tensor.float() for name, tensor in given.items()}
    reference = TorchMoe().forward(**exact, topk=2, renormalize=True)
    assert ours.dtype == dtype
    eps = torch.finfo(dtype).eps
    torch.testing.assert_close(ours.float(), reference, rtol=4 * eps, atol=4 * eps)


def test_weights_in_columns_and_routing_in_any_room() -> None:
    """Column-major weights, as on the CPU, and blocks with undefined room behind them, as on a GPU."""
    given = experts(6, 48, 40, 11)
    reference = TorchMoe().forward(**given, topk=2, renormalize=True)
    w1, w2 = (given[name].mT.contiguous().mT for name in ("w1", "w2"))
    weights, ids = fused_moe.topk_softmax(given["gating_output"], 2, True)
    blocks = fused_moe.align_blocks(ids, 16, 6)
    for undefined in (10**9, -5):
        blocks[0][int(blocks[2]) :] = undefined
        blocks[1][int(blocks[2]) // 16 :] = undefined
        ours = fused_moe.fused_experts(given["hidden_states"], w1, w2, weights, *blocks, 16)
        torch.testing.assert_close(ours, reference, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_a_token_that_is_no_number_harms_no_other() -> None:
    given = experts(4, 32, 24, 6)
    clean = FusedMoe().forward(**given, topk=2, renormalize=True)
    given["hidden_states"][2] = given["gating_output"][2] = float("nan")
    ours = FusedMoe().forward(**given, topk=2, renormalize=True)
    others = [0, 1, 3, 4, 5]
    assert torch.equal(ours[others], clean[others]) and ours[2].isnan().all()


def test_who_can_be_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    assert FusedMoe().can_capture and not TorchMoe().can_capture
    monkeypatch.setattr(ENV.KERNELS, "value", "torch")
    assert not FusedMoe().can_capture


def test_block_sizes() -> None:
    assert [pick_block_size(pairs, 8) for pairs in (1, 128, 129, 257, 513, 10**6)] == [
        16,
        16,
        32,
        64,
        128,
        128,
    ]


@pytest.mark.parametrize("kernels", ["auto", "torch"])
def test_the_model_writes_what_transformers_writes(
    kernels: str, driver, peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ENV.KERNELS, "value", kernels)
    config = tiny_config("qwen3_moe", num_layers=2, decoder_sparse_step=2)
    run = driver(config, page_size=4, moe_backend="fused")
    assert isinstance(run.engine.ctx.moe_backend, FusedMoe)
    prompts = [prompt(0, 5), prompt(1, 9)]
    ours = run.generate([run.start(ids, new=6) for ids in prompts])
    model = peer(config, run.weights)
    for ids, tokens in zip(prompts, ours, strict=True):
        output = model.generate(torch.tensor([ids]), max_new_tokens=6, do_sample=False)
        assert output[0, len(ids) :].tolist() == tokens


def test_routing_of_many_tokens_at_random() -> None:
    """Every pair stands in exactly one block, and that block is its expert's."""
    rng = random.Random(0)
    for _ in range(20):
        num_experts, block_size = rng.randint(1, 20), rng.choice([1, 3, 16])
        ids = torch.tensor(
            [[rng.randrange(num_experts) for _ in range(4)] for _ in range(rng.randint(1, 60))]
        )
        sorted_ids, expert_ids, _ = moe_align_block_size(ids, block_size, num_experts)
        flat = ids.flatten().tolist()
        seen = []
        for block, expert in zip(sorted_ids.view(-1, block_size).tolist(), expert_ids.tolist(), strict=True):
            pairs = [pair for pair in block if pair < len(flat)]
            assert pairs and all(flat[pair] == expert for pair in pairs)
            seen += pairs
        assert sorted(seen) == list(range(len(flat)))
