"""Speed on a GPU: the public set of 256 requests, and one request, in the shapes of Qwen3-0.6B.

    python benchmarks/engine_gpu.py [--peer] [--profile] [--ablation] [--repeats 3] [--output FILE.json]

Random weights, so nothing is downloaded; no token ends a text, no prefix is shared. Beside each figure stands
its floor: the time that reading weights and KV takes at the speed of a large copy, measured in the same run,
and the prompts' products at the speed of a large product. Then, in this order: `--peer` runs transformers'
continuous batching on the same requests, in a process of its own with a time limit; `--profile` sums up a
decode step by kernel; `--ablation` turns one feature off at a time. The file is written anew after each part.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from gpu_workload import (
    Workload,
    copy_bandwidth,
    event_seconds,
    floor_seconds,
    matmul_rate,
    median,
    public_set,
    qwen3_06b,
    random_weights,
    run_timed,
    single_request,
)

from minisgl.env import ENV
from minisgl.llm import LLM
from minisgl.scheduler.scheduler import ForwardData

SETTINGS: dict[str, Any] = {
    "device": "cuda",
    "max_running_req": 256,
    "max_seq_len_override": 4096,
    "max_extend_tokens": 16384,
    "page_size": 16,
}
# What is turned off, and by which settings; names that begin with "env:" are environment settings. Without
# own kernels torch does what it can, and FlashInfer decodes, as attention in torch would copy every page. So
# the graphs stay on.
ABLATIONS: dict[str, dict[str, Any]] = {
    "overlap": {"overlap": False},
    "graph": {"cuda_graph_max_bs": 0},
    "radix": {"cache_type": "naive"},
    "own kernels": {"env:KERNELS": "torch", "attention_backend": "fa,fi"},
    "pages of 16": {"page_size": 1},
}
ADDITIONS: dict[str, dict[str, Any]] = {
    "mixed, chunks of 2048": {"mixed": True, "max_extend_tokens": 2048},
    "chunks of 2048": {"max_extend_tokens": 2048},
}


class TimedLLM(LLM):
    """Tells the time that the CPU works from the time that it waits for the GPU."""

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.steps, self.waited = 0, 0.0

    def _process_last_data(self, last_data: ForwardData | None) -> None:
        if last_data is not None and last_data[1].copy_done_event is not None:
            start = time.perf_counter()
            last_data[1].copy_done_event.synchronize()
            self.waited += time.perf_counter() - start
            self.steps += 1
        super()._process_last_data(last_data)


@dataclass
class Report:
    """What goes into the file; lines are printed as they come."""

    data: dict[str, Any] = field(default_factory=dict)
    path: Path | None = None

    def write(self) -> None:
        if self.path:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.data, indent=1) + os.linesep)

    def rate(self, name: str, work: Workload, seconds: list[float], floor: float, **more: float) -> None:
        best = min(seconds)
        middle = work.output_tokens / median(seconds)
        self.data[f"{name}_tok_s"] = round(work.output_tokens / best, 1)
        self.data[f"{name}_median_tok_s"] = round(middle, 1)
        self.data[f"{name}_s"] = [round(s, 4) for s in seconds]
        self.data.update({f"{name}_{key}": round(value, 1) for key, value in more.items()})
        extra = "".join(f"  {key} {value:.0f}" for key, value in more.items())
        print(
            f"{name:28} {work.output_tokens / best:9.0f} token/s best, {middle:9.0f} median"
            f" of {len(seconds)};  {best:7.3f} s, floor {floor:6.3f} s{extra}",
            flush=True,
        )
        self.write()


@contextmanager
def engine(weights: dict[str, torch.Tensor], **changes: Any) -> Iterator[TimedLLM]:
    """An engine that has run some other requests before."""
    kernels = ENV.KERNELS.value
    ENV.KERNELS.value = changes.pop("env:KERNELS", kernels)
    start = time.perf_counter()
    llm = TimedLLM((qwen3_06b(), dict(weights)), dtype=torch.bfloat16, **{**SETTINGS, **changes})
    try:
        warm = Workload("warm", [[7 * i + j for j in range(100 + i)] for i in range(256)], [4] * 256)
        run_timed(llm, warm, 0.0, 1)
        run_timed(llm, warm, 0.6, 1)
        print(f"  ready after {time.perf_counter() - start:.1f} s: {changes}", flush=True)
        yield llm
    finally:
        llm.shutdown()
        ENV.KERNELS.value = kernels
        del llm
        gc.collect()
        torch.cuda.empty_cache()


def measure(
    llm: TimedLLM, report: Report, name: str, work: Workload, temperature: float, repeats: int, floor: float
) -> None:
    llm.steps, llm.waited = 0, 0.0
    seconds = run_timed(llm, work, temperature, repeats)
    working = (sum(seconds) - llm.waited) / llm.steps
    report.rate(name, work, seconds, floor, steps=llm.steps / repeats, cpu_us_a_step=working * 1e6)


def profile(llm: TimedLLM, report: Report, batch: int, context: int, steps: int = 16) -> None:
    """Microseconds of a decode step by kernel, and of those in which no kernel runs."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as torch_profile

    work = Workload("profile", [[i + j for j in range(context)] for i in range(batch)], [3 * steps] * batch)
    llm.reset()
    profiler = torch_profile(activities=[ProfilerActivity.CUDA])
    seen, clock = 0, {}

    def on_token(index: int, token: int) -> None:
        nonlocal seen
        if index != 0:
            return
        seen += 1
        if seen in (steps // 2, steps + steps // 2):  # a stretch without the profiler, for the wall clock
            clock[seen] = time.perf_counter()
        if seen == 2 * steps:
            profiler.start()
        elif seen == 3 * steps - 1:
            torch.cuda.synchronize()
            profiler.stop()

    llm.generate(work.prompts, work.params(0.0), on_token=on_token)
    wall = (clock[steps + steps // 2] - clock[steps // 2]) / steps * 1e6
    events = [e for e in profiler.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    count = steps - 1
    sums: dict[str, list[float]] = {}
    for event in events:
        entry = sums.setdefault(event.name[:70], [0.0, 0.0])
        entry[0] += event.device_time_total / count
        entry[1] += 1 / count
    total = sum(us for us, _ in sums.values())
    spans = sorted((e.time_range.start, e.time_range.end) for e in events)
    busy, until = 0.0, spans[0][0]  # microseconds in which some kernel or copy runs, counted once
    for start, end in spans:
        busy += max(end - max(start, until), 0.0)
        until = max(until, end)
    span = (until - spans[0][0]) / count
    graph = graph_us(llm, batch)
    print(
        f"decode step, batch {batch}, context {context}: {wall:.0f} us on the clock, {graph:.0f} us the graph"
        f" alone; under the profiler {span:.0f} us, {busy / count:.0f} us with a kernel; kernels add up to"
        f" {total:.0f} us"
    )
    table = sorted(sums.items(), key=lambda item: -item[1][0])
    for name, (us, calls) in table[:16]:
        print(f"    {us:8.1f} us  {calls:6.1f} calls  {name}")
    report.data[f"profile_{batch}x{context}"] = {
        "wall_us": round(wall, 1),
        "graph_us": round(graph, 1),
        "span_us": round(span, 1),
        "busy_us": round(busy / count, 1),
        "kernels": {name: [round(us, 1), round(calls, 1)] for name, (us, calls) in table[:24]},
    }


def run_peer(report: Report, works: list[Workload], floors: dict[str, float], args: Any) -> None:
    """What the peer has measured when it ends or its time is over."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "peer.json"
        script = Path(__file__).with_name("gpu_peer.py")
        options = ("--repeats", args.repeats, "--limit", args.peer_limit, "--output", path)
        command = [sys.executable, script, *options]
        try:
            code = subprocess.run([str(word) for word in command], timeout=args.peer_limit + 30).returncode
        except subprocess.TimeoutExpired:
            code = -1
        if code:
            print(f"the peer ended with code {code}", flush=True)
            report.data["peer_code"] = code
        found = json.loads(path.read_text()) if path.exists() else {"seconds": {}}
    report.data["peer"] = {name: value for name, value in found.items() if name != "seconds"}
    for work in works:
        if seconds := found["seconds"].get(work.name):
            report.rate(f"peer_{work.name}", work, seconds, floors[work.name])
            for kind in ("", "_median"):
                ratio = report.data[f"{work.name}{kind}_tok_s"] / report.data[f"peer_{work.name}{kind}_tok_s"]
                report.data[f"ratio_{work.name}{kind}"] = round(ratio, 3)
            print(f"  {report.data[f'ratio_{work.name}_median']:.2f} times the peer, by medians", flush=True)
    report.write()


def graph_us(llm: TimedLLM, batch: int, replays: int = 20) -> float:
    """Microseconds of a step's graph, replayed over and over on what the last step has left in its inputs."""
    graph = llm.engine.graph_runner._graphs[batch]

    def replay() -> None:
        for _ in range(replays):
            graph.replay()

    return event_seconds(replay, 5) / replays * 1e6


def machine() -> dict[str, str]:
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    for package in ("triton", "flashinfer-python", "transformers"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "none"
    properties = torch.cuda.get_device_properties(0)
    return {"gpu": properties.name, "gib": f"{properties.total_memory / 2**30:.0f}", **versions}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--peer-limit", type=float, default=240.0, metavar="SECONDS")
    parser.add_argument("--ablation", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--features", help="of --ablation, separated by commas; left out: all")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="engine setting")
    args = parser.parse_args()
    for assignment in args.set:
        name, _, value = assignment.partition("=")
        try:
            SETTINGS[name] = json.loads(value)
        except json.JSONDecodeError:
            SETTINGS[name] = value

    data = {"machine": machine(), "config": dict(SETTINGS), "repeats": args.repeats}
    report = Report(data, args.output)
    print(report.data["machine"], flush=True)
    config = qwen3_06b()
    weights = random_weights(config, "cuda")
    bandwidth, flops = copy_bandwidth(), matmul_rate()
    print(f"copy {bandwidth / 1e12:.2f} TB/s, product {flops / 1e12:.0f} TFLOP/s", flush=True)
    works = {work.name: work for work in (public_set(), single_request())}
    floors = {name: floor_seconds(config, work, bandwidth, flops) for name, work in works.items()}
    report.data.update(copy_bytes_s=bandwidth, product_flop_s=flops)
    report.data.update({f"{name}_floor_s": round(floor, 4) for name, floor in floors.items()})

    def compare(llm: TimedLLM, suffix: str = "", repeats: int = args.repeats, sampled: bool = True) -> None:
        for name, work in works.items():
            measure(llm, report, name + suffix, work, 0.0, repeats, floors[name])
            if sampled:
                measure(llm, report, f"{name}{suffix}_t0.6", work, 0.6, repeats, floors[name])

    with engine(weights) as llm:
        compare(llm)
    if args.peer:
        run_peer(report, list(works.values()), floors, args)
    if args.profile:
        with engine(weights) as llm:
            for batch, context in ((1, 256), (128, 800), (256, 800)):
                profile(llm, report, batch, context)
        report.write()
    if args.ablation:
        features = {**ABLATIONS, **ADDITIONS}
        for feature in args.features.split(",") if args.features else features:
            with engine(weights, **features[feature]) as llm:
                sign = "with" if feature in ADDITIONS else "no"
                compare(llm, f" {sign} {feature}", repeats=1, sampled=False)
    report.write()


if __name__ == "__main__":
    main()
