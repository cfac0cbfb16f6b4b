"""The same source on a CUDA device: every backend, graphs, streams, and the memory plan."""

from __future__ import annotations

import gc
import pkgutil
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import pytest
import torch
from triton.runtime.jit import JITFunction

from minisgl.core import Req, SamplingParams
from minisgl.engine import Engine, EngineConfig
from minisgl.env import ENV
from minisgl.kernel import triton as kernels
from minisgl.llm import LLM
from minisgl.models.config import ModelConfig
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]

PROMPTS = [prompt(0, 5), prompt(1, 5), prompt(2, 4), prompt(3, 15), *2 * [prompt(0, 24) + prompt(4, 3)]]
SAMPLED = SamplingParams(temperature=0.8, top_k=20, top_p=0.9, seed=3, max_tokens=8, ignore_eos=True)
DRAWN = SamplingParams(temperature=1.1, seed=5, max_tokens=8, ignore_eos=True)


def generate(arch: str, **settings: Any) -> list[list[int]]:
    """Greedy, filtered and drawn requests, twice over, so that the second time prefixes are cached."""
    config = tiny_config(arch)  # type: ignore[arg-type]
    llm = LLM((config, tiny_state_dict(config, 0)), num_page_override=512, max_running_req=8, **settings)
    greedy = SamplingParams(max_tokens=8, ignore_eos=True)
    params = [*[greedy] * len(PROMPTS), SAMPLED, DRAWN]
    try:
        prompts = [*PROMPTS, prompt(5, 20), prompt(6, 7)]
        return [result["token_ids"] for _ in range(2) for result in llm.generate(prompts, params)]
    finally:
        llm.shutdown()


@cache
def tokens_of_the_cpu(arch: str) -> list[list[int]]:
    return generate(arch)


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"page_size": 16},
        {"cuda_graph_max_bs": 0},
        {"cuda_graph_max_bs": 2},
        {"overlap": False},
        {"cache_type": "naive"},
        {"max_extend_tokens": 7},
        {"max_extend_tokens": 7, "mixed": True},
        {"attention_backend": "torch,triton"},
        {"attention_backend": "torch,triton", "page_size": 4, "mixed": True, "max_extend_tokens": 11},
        {"attention_backend": "torch,triton", "cuda_graph_max_bs": 0},
    ],
    ids=str,
)
def test_tokens_equal_those_of_the_cpu(arch: str, settings: dict[str, Any]) -> None:
    """In float32. Drawn ones, too: random numbers do not depend on the device."""
    assert generate(arch, device="cuda", **settings) == tokens_of_the_cpu(arch)


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama"])
def test_without_our_kernels(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ENV.KERNELS, "value", "torch")
    assert generate(arch, device="cuda") == tokens_of_the_cpu(arch)


def half_config() -> ModelConfig:
    """Heads as large as the libraries' kernels want them."""
    config = tiny_config(hidden_size=256, head_dim=128, num_qo_heads=4, intermediate_size=512)
    return replace(config, rotary_config=replace(config.rotary_config, head_dim=128))


def forced_logits(
    driver: Any, tokens: list[list[int]] | None, **settings: Any
) -> tuple[list[torch.Tensor], Any]:
    """Logits of each step of four requests, one with a prefix; `tokens` replace what is sampled."""
    run = driver(half_config(), 16, pages=256, **settings)
    first = run.start(prompt(0, 40), new=12)
    reqs: list[Req] = [first, run.start(prompt(1, 7), new=12), run.start(prompt(2, 130), new=12)]
    logits = [run.step(reqs).float().cpu()]
    reqs.append(run.start(prompt(0, 32) + prompt(3, 9), new=12, like=first, cached=32))
    logits.append(run.step(reqs[3:]).float().cpu())
    for _ in range(10):
        if tokens is not None:
            for req, forced in zip(reqs, tokens, strict=True):
                req.input_ids[req.prompt_len :] = torch.tensor(forced[: len(req.input_ids) - req.prompt_len])
        logits.append(run.step(reqs).float().cpu())
    return logits, [req.input_ids[req.prompt_len :].tolist() for req in reqs]


@pytest.mark.parametrize("backend", ["torch", "fa,torch", "triton", "fa,triton", "fi", "fa,fi", "fi,triton"])
@pytest.mark.parametrize("kernels", ["auto", "torch"])
@pytest.mark.parametrize("graph", [True, False])
def test_half_precision_is_near_float32(
    backend: str, kernels: str, graph: bool, driver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each backend computes what the reference on the CPU does, up to bfloat16's rounding."""
    if "fi" in backend:
        pytest.importorskip("flashinfer")
    if graph and kernels == "torch" and "triton" in backend:
        pytest.skip("refused: see the test below")
    expected, tokens = forced_logits(driver, None)
    monkeypatch.setattr(ENV.KERNELS, "value", kernels)
    logits, _ = forced_logits(
        driver,
        tokens,
        device="cuda",
        dtype=torch.bfloat16,
        attention_backend=backend,
        cuda_graph_max_bs=None if graph else 0,
    )
    for step, (got, want) in enumerate(zip(logits, expected, strict=True)):
        error = (got - want).norm() / want.norm()
        assert error < 0.05, f"step {step}: relative error {error:.4f}"
        top = want.topk(2).values
        clear = top[:, 0] - top[:, 1] > 0.2 * want.std()
        assert torch.equal(got.argmax(1)[clear], want.argmax(1)[clear]), f"step {step}"


def test_torch_references_are_refused_in_a_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ENV.KERNELS, "value", "torch")
    with pytest.raises(ValueError, match="cannot be in a CUDA graph: choose attention_backend 'torch'"):
        generate("qwen3", device="cuda", attention_backend="torch,triton")


def compiled_kernels() -> dict[str, int]:
    """How many variants of each of our kernels have been compiled or loaded in this process."""
    counts = {}
    for module in pkgutil.iter_modules(kernels.__path__):
        for name, value in vars(import_module(f"{kernels.__name__}.{module.name}")).items():
            if isinstance(value, JITFunction):
                counts[f"{module.name}.{name}"] = sum(len(cache[0]) for cache in value.device_caches.values())
    return counts


@pytest.mark.parametrize("graph", [True, False])
def test_no_request_waits_for_a_compiler(graph: bool) -> None:
    """Whatever is needed by greedy and by drawn requests, few and many, is there when the engine is."""
    config = half_config()
    llm = LLM(
        (config, tiny_state_dict(config, 0)),
        device="cuda",
        dtype=torch.bfloat16,
        num_page_override=512,
        max_running_req=16,
        cuda_graph_max_bs=None if graph else 0,
    )
    before = compiled_kernels()
    for count in (1, 2, 3, 5, 16):
        for temperature in (0.0, 0.8):
            lengths = [SamplingParams(temperature=temperature, max_tokens=2 + i) for i in range(count)]
            llm.generate([prompt(i, 5 + i) for i in range(count)], lengths)
    after = compiled_kernels()
    llm.shutdown()
    assert {name: (before[name], count) for name, count in after.items() if count > before[name]} == {}


def test_pool_takes_the_free_memory() -> None:
    config = tiny_config()
    engine = Engine(
        EngineConfig(model=(config, tiny_state_dict(config, 0)), device="cuda", max_running_req=4)
    )
    assert engine.num_pages == 4 * 2048, "as many as the rows can fill"
    assert engine.kv_cache.device.type == "cuda"


def test_graphs_of_all_sizes_share_their_memory() -> None:
    """The largest is captured first: the others add next to nothing."""
    config = tiny_config(vocab_size=50000)
    state = tiny_state_dict(config, 0)
    taken = []
    for sizes in ([64], [64, 56, 48, 40, 32, 24, 16, 8]):
        gc.collect()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved()
        engine = Engine(
            EngineConfig(
                model=(config, state),
                device="cuda",
                max_running_req=64,
                num_page_override=64,
                cuda_graph_bs=sizes,
            )
        )
        taken.append(torch.cuda.memory_reserved() - before)
        engine.shutdown()
        del engine
    assert taken[1] < 2 * taken[0] + 2**26
