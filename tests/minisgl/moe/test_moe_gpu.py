"""The fused experts on a CUDA device."""

from __future__ import annotations

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.kernel.triton import fused_moe
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.moe import TorchMoe, select_experts
from minisgl.moe.fused import FusedMoe, moe_align_block_size

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


def experts(num_experts: int, hidden: int, size: int, tokens: int, dtype: torch.dtype):
    generator = torch.Generator("cuda").manual_seed(0)

    def random(*shape: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(shape, generator=generator, device="cuda") * scale).to(dtype)

    return {
        "hidden_states": random(tokens, hidden),
        "w1": random(num_experts, 2 * size, hidden, scale=hidden**-0.5),
        "w2": random(num_experts, hidden, size, scale=size**-0.5),
        "gating_output": random(tokens, num_experts),
    }


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("tokens", [1, 3, 32, 256, 1000])
@pytest.mark.parametrize(
    ("num_experts", "topk", "hidden", "size"), [(128, 8, 512, 192), (8, 2, 64, 48), (5, 3, 130, 33)]
)
def test_fused_equals_torch(
    num_experts: int, topk: int, hidden: int, size: int, tokens: int, dtype: torch.dtype
) -> None:
    given = experts(num_experts, hidden, size, tokens, dtype)
    ours = FusedMoe().forward(**given, topk=topk, renormalize=True)
    exact = {name: tensor.float() for name, tensor in given.items()}
    reference = TorchMoe().forward(**exact, topk=topk, renormalize=True)
    tolerance = max(8 * torch.finfo(dtype).eps, 1e-5)
    torch.testing.assert_close(ours.float(), reference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("tokens", [1, 7, 256, 5000])
def test_routing_equals_torch(tokens: int) -> None:
    generator = torch.Generator("cuda").manual_seed(1)
    logits = torch.randint(-9, 9, (tokens, 128), generator=generator, device="cuda").float()
    weights, ids = fused_moe.topk_softmax(logits, 8, True)
    expected_weights, expected_ids = select_experts(logits, 8, True)
    assert torch.equal(ids, expected_ids)
    torch.testing.assert_close(weights, expected_weights)
    for block_size in (16, 128):
        ours = fused_moe.align_blocks(ids, block_size, 128)
        reference = moe_align_block_size(ids, block_size, 128)
        padded = int(ours[2])
        assert padded == int(reference[2])
        assert torch.equal(ours[0][:padded], reference[0])
        assert torch.equal(ours[1][: padded // block_size], reference[1])


def test_a_captured_graph_follows_the_routing() -> None:
    given = experts(16, 128, 64, 12, torch.bfloat16)
    backend = FusedMoe()
    backend.forward(**given, topk=4, renormalize=True)  # compiles: nothing may be compiled while capturing
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = backend.forward(**given, topk=4, renormalize=True)
    for seed in range(3):
        generator = torch.Generator("cuda").manual_seed(seed)
        for name in ("hidden_states", "gating_output"):
            given[name].normal_(generator=generator)
        graph.replay()
        assert torch.equal(out, backend.forward(**given, topk=4, renormalize=True))


@pytest.mark.parametrize("moe_backend", ["auto", "torch"])
@pytest.mark.parametrize("page_size", [1, 16])
def test_tokens_equal_those_of_the_cpu(page_size: int, moe_backend: str) -> None:
    """Through graphs with the fused backend, without with the other, which cannot be captured."""
    config = tiny_config("qwen3_moe")
    weights = tiny_state_dict(config, seed=0)
    prompts = [prompt(0, 5), prompt(1, 20), prompt(2, 4)]
    tokens = []
    for settings in ({"device": "cpu"}, {"device": "cuda", "moe_backend": moe_backend}):
        llm = LLM(
            (config, weights),
            dtype=torch.float32,
            page_size=page_size,
            num_page_override=256 // page_size,
            max_running_req=4,
            **settings,
        )
        if settings["device"] == "cuda":
            assert bool(llm.engine.graph_runner.graph_bs_list) == (moe_backend == "auto")
        results = llm.generate(prompts, SamplingParams(max_tokens=8, ignore_eos=True))
        tokens.append([result["token_ids"] for result in results])
        llm.shutdown()
    assert tokens[0] == tokens[1]
