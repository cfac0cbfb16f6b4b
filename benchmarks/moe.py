"""Times one layer of experts of Qwen3-30B-A3B's shape, fused beside the loop over experts: needs a GPU.

    python benchmarks/moe.py --out moe.json

Each time is the median over CUDA graph replays (the loop cannot be captured and is timed as it is), with the
weights read from memory each time: the layer has 1.2 GB of them and the cache 50 MB. The floor is the time to
read the weights of the experts that the tokens chose, at the bandwidth that a copy reaches in the same run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from gpu_workload import copy_bandwidth

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from minisgl.moe import TorchMoe, select_experts
from minisgl.moe.fused import FusedMoe

EXPERTS, TOP_K, HIDDEN, SIZE = 128, 8, 2048, 768
BATCHES = (1, 8, 32, 256, 4096)


def median_ms(call: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def captured(call: Callable[[], object]) -> Callable[[], object]:
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def measure(repeats: int) -> list[dict[str, float]]:
    generator = torch.Generator("cuda").manual_seed(0)

    def random(*shape: int, scale: float = 1.0) -> torch.Tensor:
        return (torch.randn(shape, generator=generator, device="cuda") * scale).bfloat16()

    w1, w2 = (
        random(EXPERTS, 2 * SIZE, HIDDEN, scale=HIDDEN**-0.5),
        random(EXPERTS, HIDDEN, SIZE, scale=SIZE**-0.5),
    )
    rate, rows = copy_bandwidth(), []
    for tokens in BATCHES:
        x, logits = random(tokens, HIDDEN), random(tokens, EXPERTS)
        used = select_experts(logits, TOP_K, True)[1].unique().numel()

        fused, loop = (
            partial(backend.forward, x, w1, w2, logits, TOP_K, True) for backend in (FusedMoe(), TorchMoe())
        )
        difference = (fused().float() - loop().float()).abs().max().item()
        fused_ms = median_ms(captured(fused), repeats)
        rows.append(
            {
                "tokens": tokens,
                "experts": used,
                "fused_ms": fused_ms,
                "loop_ms": median_ms(loop, max(3, repeats // 10)),
                "floor_ms": used * 3 * SIZE * HIDDEN * 2 / rate * 1e3,
                "tflops": 6 * tokens * TOP_K * SIZE * HIDDEN / (fused_ms / 1e3) / 1e12,
                "difference": difference,
            }
        )
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=100, help="replays of which the median is taken")
    parser.add_argument("--out", type=Path, help="also write the figures to this JSON file")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("no CUDA device: there is nothing to measure here", file=sys.stderr)
        return 1
    rows = measure(args.repeats)
    print(
        f"{torch.cuda.get_device_name()}: {EXPERTS} experts of {SIZE}, {TOP_K} a token, hidden {HIDDEN}, bf16"
    )
    print("tokens  experts   fused ms    loop ms   floor ms   TFLOP/s   max difference")
    for row in rows:
        print(
            f"{row['tokens']:6} {row['experts']:8} {row['fused_ms']:10.3f} {row['loop_ms']:10.3f}"
            f" {row['floor_ms']:10.3f} {row['tflops']:9.0f} {row['difference']:16.2g}"
        )
    if args.out:
        args.out.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
