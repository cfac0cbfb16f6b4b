"""What sampling costs a decode step: preparing a batch's arguments, and turning logits into tokens.

    python benchmarks/sampling.py [--device cpu|cuda] [--steps 10]

Random float32 logits whose 1,024 likeliest tokens have more than 0.95 together. Every request of a batch has
the settings of its line. Medians in milliseconds; on a CPU that is time of one thread, whatever else runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

from minisgl.core import Batch, Req, SamplingParams
from minisgl.engine import BatchSamplingArgs, Sampler

SETTINGS = {
    "greedy": SamplingParams(),
    "temperature": SamplingParams(temperature=0.8),
    "top_k 50": SamplingParams(temperature=0.8, top_k=50),
    "top_p 0.95": SamplingParams(temperature=0.8, top_p=0.95),
    "min_p 0.05": SamplingParams(temperature=0.8, min_p=0.05),
    "penalties": SamplingParams(temperature=0.8, repetition_penalty=1.2, presence_penalty=0.5),
    "logprobs 5": SamplingParams(logprobs=5),
}
LENGTH = 512  # tokens of each request, which penalties look at


def median_ms(call: Callable[[], object], device: torch.device, steps: int) -> float:
    on_cpu = device.type == "cpu"
    clock = time.thread_time if on_cpu else time.perf_counter
    wait = (lambda: None) if on_cpu else torch.cuda.synchronize
    times = []
    for step in range(steps + 2):
        wait()
        start = clock()
        call()
        wait()
        if step >= 2:  # warmed up
            times.append(clock() - start)
    return statistics.median(times) * 1e3


@torch.inference_mode()
def measure(name: str, size: int, vocab: int, device: torch.device, steps: int) -> tuple[float, float]:
    """Milliseconds of `prepare`, and of `sample` with `logprobs`."""
    logits = (torch.randn(size, vocab, generator=torch.Generator().manual_seed(0)) * 4).to(device)
    sampler = Sampler(device, vocab, 0, size + 1)
    sampler.penalties.token_pool = torch.randint(vocab, (size + 1, LENGTH), dtype=torch.int32).to(device)
    ids = torch.zeros(LENGTH, dtype=torch.int32)
    reqs = [Req(ids, i, 0, 9, i, SETTINGS[name], None) for i in range(size)]  # type: ignore[arg-type]
    sampler.prepare(Batch(reqs, "prefill"))
    batch = Batch(reqs, "decode")
    args = sampler.prepare(batch)

    def run(args: BatchSamplingArgs) -> None:
        sampler.logprobs(logits, sampler.sample(logits, args), args)

    prepare = median_ms(lambda: sampler.prepare(batch), device, 10 * steps)
    return prepare, median_ms(lambda: run(args), device, steps)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=10)
    options = parser.parse_args()
    torch.set_num_threads(1)
    device = torch.device(options.device)
    print(f"{'settings':12} {'vocabulary':>10} {'batch':>6} {'prepare':>9} {'sample':>9}")
    for name in SETTINGS:
        for vocab in (512, 151_936):
            for size in (1, 64, 256):
                prepare, sample = measure(name, size, vocab, device, options.steps)
                print(f"{name:12} {vocab:10,} {size:6} {prepare:9.3f} {sample:9.3f}", flush=True)


if __name__ == "__main__":
    main()
