"""Speed of the kernels on a GPU, at the shapes of Qwen3-0.6B, beside what the memory can do.

    PYTHONPATH=. python3 benchmarks/kernels.py                  # every part, about two minutes on an H200
    PYTHONPATH=. python3 benchmarks/kernels.py attention step   # some of them

Times are of one call among many different ones in a CUDA graph: each works on other memory than the last, so
that the L2 cache does not answer for the memory. TB/s are the bytes that must be moved, read once and written
once, over the time. "torch" is the reference on the GPU, in a graph as well. A part that fails says why, and
the others go on.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F

from minisgl.kernel import reference, triton
from minisgl.kernel.triton.attention import DecodeConfig
from minisgl.kernel.triton.linear import MAX_TOKENS, VectorConfig
from minisgl.layers.rotary import inverse_frequencies, make_cos_sin

LAYERS, HIDDEN, FFN, VOCAB, HQ, HKV, D, EPS = 28, 1024, 3072, 151936, 16, 8, 128, 1e-6
QKV = (HQ + 2 * HKV) * D
POOLS = 4  # layers that have a KV pool; the others take them in turn
LONGEST, ROWS = 2048, 256  # of the page table
CHECKED = (1, 4, 13, 64)  # tokens
LONGEST_CHECKED = 1500
BUDGET_S = 150  # no part is begun after that
DEVICE, DTYPE = torch.device("cuda"), torch.bfloat16

Call: TypeAlias = Callable[[], Any]


def time_us(calls: Sequence[Call]) -> float:
    """Median time of one call, when they follow each other in a graph."""
    for call in calls[:2]:
        call()  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call in calls:
            call()

    def replay_us(count: int) -> float:
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            graph.replay()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e3 / count

    replay_us(2)
    count = min(max(round(3000 / replay_us(2)), 1), 50)  # long enough for the first launch not to count
    return statistics.median(replay_us(count) for _ in range(7)) / len(calls)


def report(
    name: str, calls: Sequence[Call], num_bytes: float, peers: Sequence[Call] = (), note: str = ""
) -> None:
    """One line of the table; what cannot run says why."""
    try:
        us = time_us(calls)
        peer = f"{time_us(peers):9.2f}" if peers else " " * 9
        print(
            f"{name:<44}{us:9.2f}{num_bytes / 1e6:10.2f}{num_bytes / us / 1e6:7.2f}{peer}  {note}", flush=True
        )
    except Exception as problem:
        print(f"{name:<44}{why(problem)}", flush=True)


def why(problem: Exception) -> str:
    return f"{type(problem).__name__}: {(str(problem).splitlines() or [''])[-1][:110]}"


def rand(*shape: int, scale: float = 1.0) -> torch.Tensor:
    return torch.empty(shape, dtype=DTYPE, device=DEVICE).normal_(std=scale)


@dataclass
class Layer:
    """Weights of one layer."""

    qkv: torch.Tensor
    o: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor
    norms: torch.Tensor  # [2, hidden], before attention and before the feed-forward network
    head_norms: torch.Tensor  # [2, head_dim], of queries and keys


class Model:
    """Random weights, and a pool in which the page table's rows of tokens lie page by page."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.layers = [
            Layer(
                rand(QKV, HIDDEN, scale=0.03),
                rand(HIDDEN, HQ * D, scale=0.02),
                rand(2 * FFN, HIDDEN, scale=0.03),
                rand(HIDDEN, FFN, scale=0.02),
                rand(2, HIDDEN, scale=0.1) + 1,
                rand(2, D, scale=0.1) + 1,
            )
            for _ in range(LAYERS)
        ]
        self.embedding = rand(VOCAB, HIDDEN, scale=0.02)
        self.norm = rand(HIDDEN, scale=0.1) + 1
        self.cos_sin = make_cos_sin(inverse_frequencies(D, 1e6), 4096).to(DEVICE)
        self.kv = rand(POOLS, 2, ROWS * LONGEST, HKV, D)
        self._tables: dict[int, torch.Tensor] = {}

    def table(self, page_size: int = 1) -> torch.Tensor:
        """int32 [ROWS, LONGEST]: pages in random places."""
        if page_size not in self._tables:
            pages = torch.randperm(ROWS * LONGEST // page_size, device=DEVICE) * page_size
            loc = pages[:, None] + torch.arange(page_size, device=DEVICE)
            self._tables[page_size] = loc.flatten().int().view(ROWS, LONGEST)
        return self._tables[page_size]

    def attend(
        self, i: int, lengths: torch.Tensor, page_size: int = 1, config: DecodeConfig | None = None
    ) -> Callable[[torch.Tensor], torch.Tensor]:
        """Fused decode attention of a QKV product; another i works on other keys."""
        batch = len(lengths)
        first = i // POOLS * batch % (ROWS - batch + 1)
        rows = torch.arange(first, first + batch, dtype=torch.int32, device=DEVICE)
        index = (*self.kv[i % POOLS], self.table(page_size), rows, lengths, D**-0.5, HQ, HKV)
        return lambda qkv: triton.fused_decode_attention(
            qkv, *self.layers[i % LAYERS].head_norms, EPS, self.cos_sin, *index, config=config
        )


def lengths_of(batch: int, spread: bool = False) -> torch.Tensor:
    """1,024 tokens each, or 600 to 1,500."""
    if not spread:
        return torch.full((batch,), 1024, dtype=torch.int32, device=DEVICE)
    generator = torch.Generator().manual_seed(1)
    return torch.randint(600, 1501, (batch,), generator=generator, dtype=torch.int32).to(DEVICE)


def part_check(model: Model) -> None:
    """Every kernel at its real shape, against its reference computed in float32."""
    errors: dict[str, float] = {}

    def check(name: str, function: str, *arguments: Any) -> None:
        wide = [a.float() if isinstance(a, torch.Tensor) and a.dtype == DTYPE else a for a in arguments]
        ours, theirs = getattr(triton, function)(*arguments), getattr(reference, function)(*wide)
        for a, b in zip(*((r if isinstance(r, tuple) else (r,)) for r in (ours, theirs)), strict=True):
            distance = (a.double() - b.double()).norm() / b.double().norm()
            errors[name] = max(errors.get(name, 0.0), distance.item())

    layer = model.layers[0]
    for n in CHECKED:
        x, out, hidden, qkv = (rand(n, size) for size in (HIDDEN, HQ * D, FFN, QKV))
        ids = torch.randint(0, VOCAB, (n,), device=DEVICE)
        loc, positions = torch.randperm(n, device=DEVICE).int(), ids.int() % 4096
        check("indexing", "indexing", model.embedding, ids)
        check("add_rms_norm", "fused_add_rms_norm", x, hidden[:, :HIDDEN].contiguous(), model.norm, EPS)
        check("silu_and_mul", "silu_and_mul", rand(n, 2 * FFN))
        check("apply_rope", "apply_rope", qkv.view(n, -1, D), positions, model.cos_sin)
        pool = torch.zeros(2, n, HKV, D, dtype=DTYPE, device=DEVICE)
        heads = (qkv, *layer.head_norms, EPS, model.cos_sin)
        check("qk_norm_rope_store", "qk_norm_rope_store", *heads, positions, loc, *pool, HQ, HKV)
        lengths = torch.randint(1, LONGEST_CHECKED, (n,), device=DEVICE, dtype=torch.int32)
        table = torch.randperm(n * LONGEST_CHECKED, device=DEVICE).int().view(n, -1)
        rows = torch.randperm(n, device=DEVICE).int()
        index = (*rand(2, n * LONGEST_CHECKED, HKV, D), table, rows, lengths, D**-0.5)
        check(f"attention {n}", "decode_attention", rand(n, HQ, D), *index)
        check(f"fused attention {n}", "fused_decode_attention", *heads, *index, HQ, HKV)
        if n <= MAX_TOKENS:
            check(f"qkv {n}", "norm_linear", x, model.norm, EPS, layer.qkv)
            check(f"lm_head {n}", "norm_linear", x, model.norm, EPS, model.embedding)
            check(f"gate_up {n}", "norm_gate_up", x, model.norm, EPS, layer.gate_up)
            check(f"o {n}", "linear_add", out, layer.o, x)
            check(f"down {n}", "linear_add", hidden, layer.down, x)
    wrong = {name: f"{value:.1e}" for name, value in errors.items() if not value < 1e-2}
    print(
        f"{len(errors)} kernels and sizes, largest error {max(errors.values()):.1e}; wrong: {wrong or 'none'}"
    )
    logits, temperatures = rand(64, VOCAB, scale=3.0), torch.linspace(0, 2, 64, device=DEVICE)
    arguments = (logits, temperatures, torch.rand(64, dtype=torch.float64, device=DEVICE))
    same = triton.sample_tokens(*arguments) == reference.sample_tokens(*arguments)
    print(f"sample_tokens: {same.sum().item()} of 64 tokens are the reference's")


def part_rows(model: Model) -> None:
    """Kernels without a matrix, at decode and prefill sizes."""
    for n in (1, 64, 256, 8192):
        count = 64 if n < 1000 else 8
        pairs = [(rand(n, HIDDEN), rand(n, HIDDEN), model.norm, EPS) for _ in range(count)]
        gates = [(rand(n, 2 * FFN),) for _ in range(count)]
        loc = torch.randperm(ROWS * LONGEST, device=DEVICE)[:n].int()
        rest = (*model.layers[0].head_norms, EPS, model.cos_sin, loc % 4096, loc, *model.kv[0], HQ, HKV)
        heads = [(rand(n, QKV), *rest) for _ in range(count)]
        for name, inputs, num_bytes in (
            ("fused_add_rms_norm", pairs, n * HIDDEN * 2 * 4),
            ("silu_and_mul", gates, n * FFN * 2 * 3),
            ("qk_norm_rope_store", heads, n * QKV * 2 * 2),
        ):
            ours, theirs = getattr(triton, name), getattr(reference, name)
            calls = [partial(ours, *a) for a in inputs]
            report(f"{name} {n}", calls, num_bytes, [partial(theirs, *a) for a in inputs])


def part_attention(model: Model) -> None:
    """Fused decode attention: batches, page sizes and ways to cut the work."""

    def configs(chunk: int, splits: int, *shapes: tuple[int, int, int]) -> list[DecodeConfig | None]:
        return [DecodeConfig(block, splits, chunk, warps, stages) for block, warps, stages in shapes]

    shapes = (
        (64, 4, 3),
        (64, 4, 4),
        (64, 4, 2),
        (32, 4, 4),
        (32, 4, 6),
        (32, 2, 4),
        (128, 4, 2),
        (128, 8, 3),
    )
    cuts = [
        c
        for splits, chunk in ((2, 256), (4, 256), (8, 128), (8, 512))
        for c in configs(chunk, splits, shapes[0])
    ]
    small = configs(32, 32, (32, 4, 1), (32, 2, 1), (32, 4, 3)) + configs(64, 16, (64, 4, 1), (64, 4, 3))
    for batch, page_size, spread, choices in (
        (256, 1, False, [None, *configs(256, 8, *shapes), *cuts]),
        (256, 16, False, [None]),
        (256, 64, False, [None]),
        (256, 1, True, [None, *cuts]),
        (64, 1, False, [None, *configs(256, 8, shapes[0]), *cuts]),
        (16, 1, False, [None, *configs(128, 8, shapes[0]), *small[3:]]),
        (1, 1, False, [None, *small]),
    ):
        lengths = lengths_of(batch, spread)
        num_bytes = int(lengths.sum()) * 2 * HKV * D * 2
        for c in choices:
            cut = f"b{c.block} w{c.warps} st{c.stages} sp{c.splits} ch{c.min_chunk}" if c else "chosen"
            qkv, count = rand(batch, QKV), min(POOLS * ROWS // batch, 128)
            calls = [partial(model.attend(i, lengths, page_size, c), qkv) for i in range(max(count, 4))]
            report(f"{batch} x {'600-1500' if spread else '1024'}, page {page_size}: {cut}", calls, num_bytes)
        if page_size == 1 and batch != 16:
            flashinfer_row(model, lengths, num_bytes)


def flashinfer_row(model: Model, lengths: torch.Tensor, num_bytes: int) -> None:
    """The peer: FlashInfer's decode, without norms, rotation and storing."""
    try:
        import flashinfer

        wrapper = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
            torch.empty(128 << 20, dtype=torch.uint8, device=DEVICE), "NHD", use_tensor_cores=True
        )
        indptr = F.pad(lengths.cpu().cumsum(0), (1, 0)).int()
        pages = torch.cat([model.table()[i, :length] for i, length in enumerate(lengths.tolist())])
        ones = torch.ones(len(lengths), dtype=torch.int32)
        wrapper.plan(indptr, pages, ones, HQ, HKV, D, 1, q_data_type=DTYPE, kv_data_type=DTYPE)
        q = rand(len(lengths), HQ, D)
        pools = [tuple(kv.unsqueeze(1) for kv in model.kv[i]) for i in range(POOLS)]
    except Exception as problem:
        print(f"{len(lengths)}: FlashInfer: {why(problem)}")
        return
    report(f"{len(lengths)}: FlashInfer", [partial(wrapper.run, q, pool) for pool in pools], num_bytes)


def part_linear(model: Model) -> None:
    """Products with their norm, gate or addition: the best way to cut each, and the others in brackets."""
    vector = [VectorConfig(t, w) for t, w in ((8192, 4), (16384, 4), (8192, 2), (4096, 1))]
    for n, configs in {1: vector, 2: vector[:3], 4: vector[:2]}.items():
        x, out, hidden = rand(n, HIDDEN), rand(n, HQ * D), rand(n, FFN)
        for name, function, inputs in (
            ("qkv", "norm_linear", [(x, model.norm, EPS, w.qkv) for w in model.layers]),
            ("o", "linear_add", [(out, w.o, x) for w in model.layers]),
            ("gate_up", "norm_gate_up", [(x, model.norm, EPS, w.gate_up) for w in model.layers]),
            ("down", "linear_add", [(hidden, w.down, x) for w in model.layers]),
            ("lm_head", "norm_linear", [(x, model.norm, EPS, model.embedding)] * 3),
        ):
            times: dict[str, tuple[float, VectorConfig]] = {}
            run, plain = getattr(triton, function), getattr(reference, function)
            for c in configs:
                cut = f"{c.tile // 1024}k/{c.warps}"
                try:
                    times[cut] = time_us([partial(run, *a, config=c) for a in inputs]), c
                except Exception as problem:
                    print(f"{name} {n} {cut}: {why(problem)}")
            if not times:
                continue
            best, *others = sorted(times, key=lambda cut: times[cut][0])
            note = ", ".join(f"{cut} {times[cut][0]:.1f}" for cut in others)
            num_bytes = 2 * sum(t.numel() for t in inputs[0] if isinstance(t, torch.Tensor))
            calls = [partial(run, *a, config=times[best][1]) for a in inputs]
            report(f"{name} {n}: {best}", calls, num_bytes, [partial(plain, *a) for a in inputs], f"({note})")


def part_sample(model: Model) -> None:
    """Sampling at temperature 0.6: one pass over the logits and a look at one block."""
    for n in (1, 64, 256):
        logits = [rand(n, VOCAB, scale=3.0) for _ in range(max(2, 128 // n))]
        rest = torch.full((n,), 0.6, device=DEVICE), torch.rand(n, dtype=torch.float64, device=DEVICE)
        ours, theirs = ([partial(k.sample_tokens, x, *rest) for x in logits] for k in (triton, reference))
        report(f"sample_tokens {n}", ours, n * VOCAB * 2, theirs[:2])


def part_step(model: Model) -> None:
    """A whole decode step without a scheduler, at 1,024 tokens a request."""

    def fused(batch: int, linear: Any = None, attention: DecodeConfig | None = None) -> Call:
        attend = [model.attend(i, lengths_of(batch), config=attention) for i in range(LAYERS)]
        ids, zeros = torch.randint(0, VOCAB, (batch,), device=DEVICE), torch.zeros(batch, device=DEVICE)

        def run() -> torch.Tensor:
            x = triton.indexing(model.embedding, ids)
            for w, f in zip(model.layers, attend, strict=True):
                out = f(triton.norm_linear(x, w.norms[0], EPS, w.qkv, config=linear)).view(batch, -1)
                x = triton.linear_add(out, w.o, x, config=linear)
                hidden = triton.norm_gate_up(x, w.norms[1], EPS, w.gate_up, config=linear)
                x = triton.linear_add(hidden, w.down, x, config=linear)
            logits = triton.norm_linear(x, model.norm, EPS, model.embedding, config=linear)
            return triton.sample_tokens(logits, zeros, zeros)

        return run

    def library(batch: int, attention: DecodeConfig | None = None) -> Call:
        attend = [model.attend(i, lengths_of(batch), config=attention) for i in range(LAYERS)]
        ids, zeros = torch.randint(0, VOCAB, (batch,), device=DEVICE), torch.zeros(batch, device=DEVICE)

        def run() -> torch.Tensor:
            x = triton.indexing(model.embedding, ids)
            residual = torch.zeros_like(x)
            for w, f in zip(model.layers, attend, strict=True):
                x, residual = triton.fused_add_rms_norm(x, residual, w.norms[0], EPS)
                x = F.linear(f(F.linear(x, w.qkv)).view(batch, -1), w.o)
                x, residual = triton.fused_add_rms_norm(x, residual, w.norms[1], EPS)
                x = F.linear(triton.silu_and_mul(F.linear(x, w.gate_up)), w.down)
            x, _ = triton.fused_add_rms_norm(x, residual, model.norm, EPS)
            return triton.sample_tokens(F.linear(x, model.embedding), zeros, zeros)

        return run

    weights = sum(m.numel() for w in model.layers for m in (w.qkv, w.o, w.gate_up, w.down))
    for batch, name, call in (
        (1, "fused", fused(1)),
        (1, "fused, 4k/1", fused(1, VectorConfig(4096, 1))),
        (1, "fused, 16k/4", fused(1, VectorConfig(16384, 4))),
        (1, "fused, 16 splits of 64", fused(1, attention=DecodeConfig(64, 16, 64, 4, 1))),
        (1, "fused, KV after the wait", fused(1, attention=DecodeConfig(32, 32, 32, 4, 3))),
        (1, "library products", library(1)),
        (4, "fused", fused(4)),
        (4, "library products", library(4)),
        (16, "library products", library(16)),
        (64, "library products", library(64)),
        (256, "library products", library(256)),
    ):
        num_bytes = 2 * (weights + model.embedding.numel()) + batch * 1024 * 2 * HKV * D * 2 * LAYERS
        report(f"step of {batch}: {name}", [call], num_bytes)


PARTS: dict[str, Callable[[Model], None]] = {
    "check": part_check,
    "step": part_step,
    "attention": part_attention,
    "sample": part_sample,
    "rows": part_rows,
    "linear": part_linear,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="default: all")
    parts = parser.parse_args().parts or list(PARTS)
    begin = time.perf_counter()
    gib4 = torch.empty(2, 4 << 30, dtype=torch.uint8, device=DEVICE).random_()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"{'':<44}{'us':>9}{'MB':>10}{'TB/s':>7}{'torch us':>9}")
    report("copy", [partial(gib4[0].copy_, gib4[1])], 2 * gib4[0].numel())
    del gib4
    model = Model()
    for name in parts:
        if time.perf_counter() - begin > BUDGET_S:
            print(f"--- {name}: not begun, {BUDGET_S} s are over")
            continue
        try:
            PARTS[name](model)
        except Exception as problem:
            print(f"--- {name}: {why(problem)}")
        torch.cuda.empty_cache()
        print(f"--- {name}: {time.perf_counter() - begin:.0f} s so far", flush=True)


if __name__ == "__main__":
    main()
