"""What the GPU benchmarks run: Qwen3-0.6B's shapes with random weights, and the public set of requests."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models import ModelConfig
from minisgl.models.config import RotaryConfig
from minisgl.models.tiny import tiny_config, weight_shapes

Weights = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Workload:
    """Prompts and how many tokens each is continued with."""

    name: str
    prompts: list[list[int]]
    output_lens: list[int]

    @property
    def output_tokens(self) -> int:
        return sum(self.output_lens)

    @property
    def steps(self) -> int:
        """Decode steps when all run at once: the first token comes from the prefill."""
        return max(self.output_lens) - 1

    @property
    def kv_reads(self) -> int:
        """Tokens whose KV decode attention must read, over all steps and requests, in every layer."""
        pairs = zip(self.prompts, self.output_lens, strict=True)
        return sum(sum(range(len(prompt) + 1, len(prompt) + n)) for prompt, n in pairs)

    def params(self, temperature: float) -> list[SamplingParams]:
        return [
            SamplingParams(temperature=temperature, ignore_eos=True, max_tokens=n) for n in self.output_lens
        ]


def public_set() -> Workload:
    """The requests that mini-sglang and nano-vllm publish their figures for."""
    generator = random.Random(0)
    prompts = [[generator.randint(0, 10000) for _ in range(generator.randint(100, 1024))] for _ in range(256)]
    return Workload("public256", prompts, [generator.randint(100, 1024) for _ in range(256)])


def single_request() -> Workload:
    """One request of 128 tokens, continued by 256."""
    generator = random.Random(1)
    return Workload("batch1", [[generator.randint(0, 10000) for _ in range(128)]], [256])


def qwen3_06b() -> ModelConfig:
    return tiny_config(
        "qwen3",
        num_layers=28,
        hidden_size=1024,
        num_qo_heads=16,
        num_kv_heads=8,
        head_dim=128,
        intermediate_size=3072,
        vocab_size=151936,
        rotary_config=RotaryConfig(head_dim=128, max_position=40960, base=1e6),
        dtype=torch.bfloat16,
    )


def random_weights(config: ModelConfig, device: str, seed: int = 0) -> Weights:
    """Standard deviation 0.02, and norms of 1, as transformers initializes; names of Hugging Face."""
    generator = torch.Generator(device).manual_seed(seed)
    return {
        name: torch.ones(shape, dtype=config.dtype, device=device)
        if "norm" in name
        else torch.randn(shape, generator=generator, dtype=config.dtype, device=device).mul_(0.02)
        for name, shape in weight_shapes(config).items()
    }


def median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]


def run_timed(llm: LLM, work: Workload, temperature: float, repeats: int) -> list[float]:
    """Seconds of each repeat, without cached prefixes; the work done is checked."""
    seconds = []
    for _ in range(repeats):
        llm.reset()
        params = work.params(temperature)
        gc.collect()
        # A GPU that has been idle is slow at first.
        llm.generate([[3, 1, 4, 1, 5]], SamplingParams(max_tokens=64, ignore_eos=True))
        torch.cuda.synchronize()
        start = time.perf_counter()
        results = llm.generate(work.prompts, params)
        seconds.append(time.perf_counter() - start)
        assert [len(result["token_ids"]) for result in results] == work.output_lens
    return seconds


def copy_bandwidth() -> float:
    """Bytes a second, read and written, of a large copy on the device."""
    source = torch.randint(0, 255, (2**32,), dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.numel() / event_seconds(lambda: target.copy_(source), 10)


def matmul_rate() -> float:
    """Floating-point operations a second of a large bfloat16 product of random matrices."""
    a, b = torch.randn(2, 8192, 8192, dtype=torch.bfloat16, device="cuda").unbind(0)
    return 2 * 8192**3 / event_seconds(lambda: a @ b, 10)


def event_seconds(run: Callable[[], object], repeats: int) -> float:
    """Median seconds of one run on the device, after three that are not timed."""
    for _ in range(3):
        run()
    times = []
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return median(times)


def floor_seconds(config: ModelConfig, work: Workload, bandwidth: float, flops: float) -> float:
    """The least time that memory and arithmetic allow: weights once a step, each request's KV once a token,
    and the products of the prompts at the rate of a large one.
    """
    weights = sum(torch.Size(shape).numel() for shape in weight_shapes(config).values())
    weight_bytes = weights * config.dtype.itemsize
    kv_bytes = work.kv_reads * config.kv_elements_per_token * config.dtype.itemsize
    embedding = config.vocab_size * config.hidden_size
    prefill = 2 * (weights - embedding) * sum(map(len, work.prompts)) / flops
    return (kv_bytes + work.steps * weight_bytes) / bandwidth + prefill
