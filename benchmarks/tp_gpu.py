"""Two GPUs against one: tokens a second, and what the sums between them cost.

    python benchmarks/tp_gpu.py [--ranks 2] [--models 0.6b 8b] [--no-sums] [--output FILE.json]

Shapes of Qwen3-0.6B and Qwen3-8B with random weights in bfloat16, nothing is downloaded. First the sum of a
decode step's hidden vectors over the ranks: by NCCL, launched one by one and in a CUDA graph as the engine
does it, and by torch's own kernel that reads the other GPU's memory ("one shot"). Its floor is the time that
its bytes take over the link at the speed of a large copy between the GPUs, plus an empty kernel in a graph.
Then whole requests on 1 rank and on all.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from gpu_workload import Workload, event_seconds, median, qwen3_06b
from rank_weights import use_random_weights

from minisgl.distributed import DistributedCommunicator, DistributedInfo, set_tp_info
from minisgl.distributed.impl import join_group
from minisgl.llm import LLM
from minisgl.models import ModelConfig

BATCHES = (1, 4, 16, 64, 256)
IN_GRAPH = 100  # sums that one graph holds, so that its launch does not count
SETTINGS: dict[str, Any] = {
    "device": "cuda",
    "dtype": torch.bfloat16,
    "max_running_req": 64,
    "max_seq_len_override": 2048,
    "page_size": 16,
    "cache_type": "naive",
    "cuda_graph_bs": (1, 2, 4, 8, 16, 32, 64),
}


def qwen3_8b() -> ModelConfig:
    return replace(
        qwen3_06b(),
        num_layers=36,
        hidden_size=4096,
        num_qo_heads=32,
        intermediate_size=12288,
        tie_word_embeddings=False,
    )


MODELS = {"0.6b": qwen3_06b, "8b": qwen3_8b}


def graph_seconds(run: Callable[[], object]) -> float:
    """Seconds of one run among many in a graph."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        for _ in range(IN_GRAPH):
            run()
    return event_seconds(graph.replay, 20) / IN_GRAPH


def one_shot(x: torch.Tensor) -> Callable[[], object]:
    """A sum by torch's symmetric memory."""
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symmetric

    assert dist.group.WORLD is not None
    name = dist.group.WORLD.group_name
    buffer = symmetric.empty(x.numel(), dtype=x.dtype, device=x.device)
    symmetric.rendezvous(buffer, name)
    buffer.fill_(1)
    torch.cuda.synchronize()
    dist.barrier()
    total = torch.ops.symm_mem.one_shot_all_reduce(buffer, "sum", name)
    assert bool((total == dist.get_world_size()).all()), "the sum is wrong"
    return lambda: torch.ops.symm_mem.one_shot_all_reduce(buffer, "sum", name)


def measure_sums(rank: int, size: int, meeting_point: str, result_file: str) -> None:
    """Microseconds of a sum by batch size and model; what one rank does."""
    torch.cuda.set_device(rank)
    join_group(DistributedInfo(rank, size), Path(meeting_point), torch.device("cuda", rank))
    set_tp_info(rank, size)
    comm = DistributedCommunicator()
    results: dict[str, dict[str, float]] = {}

    def save() -> None:
        if rank == 0:
            Path(result_file).write_text(json.dumps(results))

    vectors = {
        f"{name} batch {batch}": torch.zeros(batch, model().hidden_size, dtype=torch.bfloat16, device="cuda")
        for name, model in MODELS.items()
        for batch in BATCHES
    }
    for name, x in vectors.items():
        eager = event_seconds(partial(all_reduce_many, comm, x, 20), 10) / 20 * 1e6
        in_graph = graph_seconds(partial(comm.all_reduce, x)) * 1e6
        results[name] = {"bytes": float(x.nbytes), "eager": eager, "graph": in_graph}
    save()
    try:
        for name, x in vectors.items():
            results[name]["one_shot"] = graph_seconds(one_shot(x)) * 1e6
    except Exception as error:  # a private interface, which the engine does not use
        print(f"no one-shot sum on rank {rank}: {type(error).__name__}: {error}", flush=True)
    save()
    torch.cuda.synchronize()
    os._exit(0)  # NCCL would wait for the graphs


def all_reduce_many(comm: DistributedCommunicator, x: torch.Tensor, count: int) -> None:
    for _ in range(count):
        comm.all_reduce(x)


def sums(ranks: int) -> dict[str, Any]:
    """Figures of `measure_sums`, with their floors."""
    source = torch.zeros(2**30, dtype=torch.uint8, device="cuda:0")
    target = torch.zeros(2**30, dtype=torch.uint8, device="cuda:1")
    link = source.numel() / event_seconds(partial(target.copy_, source), 5)
    flag = torch.zeros(1, device="cuda:0")
    empty = graph_seconds(partial(flag.add_, 1)) * 1e6
    peer = torch.cuda.can_device_access_peer(0, 1)
    print(f"copy between the GPUs {link / 1e9:.0f} GB/s (peer access: {peer}), empty kernel {empty:.2f} us")
    del source, target
    torch.cuda.empty_cache()
    with tempfile.TemporaryDirectory() as folder:
        result_file = Path(folder, "sums.json")
        arguments = ranks, f"{folder}/meeting", str(result_file)
        context = torch.multiprocessing.get_context("spawn")
        processes = [context.Process(target=measure_sums, args=(rank, *arguments)) for rank in range(ranks)]
        for process in processes:
            process.start()
        for process in processes:
            process.join(60)
            process.kill()
        results: dict[str, Any] = json.loads(result_file.read_text())
    print(f"{'sum of hidden vectors':24} {'bytes':>8} {'eager':>8} {'graph':>8} {'one shot':>8} {'floor':>8}")
    for name, times in results.items():
        # each GPU sends what the others lack: (n - 1) / n of the vector there and back
        times["floor"] = empty + 2 * (ranks - 1) / ranks * times["bytes"] / link * 1e6
        cells = [f"{times[key]:8.1f}" if key in times else 8 * " " for key in ("eager", "graph", "one_shot")]
        print(f"{name:24} {times['bytes']:8.0f} {' '.join(cells)} {times['floor']:8.1f} us", flush=True)
    return {"link_bytes_s": link, "empty_us": empty, "sums": results}


def workloads() -> list[Workload]:
    generator = random.Random(0)

    def texts(count: int, prompt: int) -> list[list[int]]:
        return [[generator.randrange(10000) for _ in range(prompt)] for _ in range(count)]

    return [
        Workload("batch 1", texts(1, 128), [256]),
        Workload("batch 16", texts(16, 128), [128] * 16),
        Workload("batch 64", texts(64, 512), [128] * 64),
    ]


def tokens_per_second(config: ModelConfig, ranks: int, repeats: int = 2) -> dict[str, float]:
    start = time.perf_counter()
    llm = LLM((config, {}), tp_size=ranks, rank_initializer=use_random_weights, **SETTINGS)
    rates: dict[str, float] = {}
    try:
        works = workloads()
        llm.generate(works[-1].prompts, replace(works[0].params(0.0)[0], max_tokens=4))
        print(f"  {ranks} ranks are ready after {time.perf_counter() - start:.1f} s", flush=True)
        for work in works:
            seconds = []
            for _ in range(repeats):
                begun = time.perf_counter()
                llm.generate(work.prompts, work.params(0.0))
                seconds.append(time.perf_counter() - begun)
            rates[work.name] = work.output_tokens / min(seconds)
            rates[f"{work.name} median"] = work.output_tokens / median(seconds)
    finally:
        llm.shutdown()
        del llm
        gc.collect()
        torch.cuda.empty_cache()
    return rates


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--models", nargs="*", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--no-sums", action="store_true")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    report: dict[str, Any] = {"gpu": torch.cuda.get_device_name(0), "torch": torch.__version__}
    print(f"{torch.cuda.device_count()} x {report['gpu']}, torch {report['torch']}", flush=True)
    use_random_weights()
    try:
        if not args.no_sums:
            report.update(sums(args.ranks))
        for name in args.models:
            config = MODELS[name]()
            print(f"Qwen3-{name}", flush=True)
            rates = {size: tokens_per_second(config, size) for size in (1, args.ranks)}
            report[name] = rates
            for work in rates[1]:
                one, many = rates[1][work], rates[args.ranks][work]
                print(f"  {work:16} {one:8.0f} token/s on 1, {many:8.0f} on {args.ranks}: {many / one:.2f}x")
    finally:
        if args.output:
            args.output.parent.mkdir(parents=True, exist_ok=True)
            args.output.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
