"""Train minisgl-tiny and export it.

    python -m tools.train_tiny.train build/train_tiny --out build/train_tiny/minisgl-tiny --tokens 1e9

reads ``tokenizer.json``, ``pool.bin``, ``starts.npy`` and ``val.npz`` (tokenizer.py and data.py write them).
The learning rate warms up, stays, and falls linearly to nothing over the last half. Progress is the larger of
the share of the tokens and the share of the seconds, so that a slow machine ends in time and still decays.
Every row begins where a document begins, as a prompt does.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from .export import export
from .net import Net, Shape


@dataclass(frozen=True)
class Options:
    """What a run depends on. Two in ten steps use rows of ``long`` tokens, the others of ``short``."""

    tokens: float
    seconds: float = 1e9
    batch_tokens: int = 131072
    short: int = 512
    long: int = 2048
    muon_lr: float = 0.02
    adam_lr: float = 5e-3
    warmup: int = 100
    decay: float = 0.5
    spread: float = 1e-4
    seed: int = 0
    compile: bool = False


@dataclass
class Report:
    """What the model card says about a run."""

    steps: int = 0
    tokens: int = 0
    seconds: float = 0.0
    losses: dict[str, float] = field(default_factory=dict)
    curve: list[tuple[int, float]] = field(default_factory=list)


def rate(progress: float, step: int, options: Options) -> float:
    """The factor of the learning rates."""
    return min(1.0, (step + 1) / options.warmup, (1.0 - progress) / options.decay)


def batches(pool: Tensor, starts: Tensor, options: Options) -> Iterator[Tensor]:
    """Endless rows [batch, length + 1] of token ids, each from the beginning of a random document."""
    generator = torch.Generator(pool.device).manual_seed(options.seed)
    step = 0
    while True:
        length = options.long if step % 5 == 4 else options.short
        usable = starts[: int(torch.searchsorted(starts, len(pool) - length - 1))]
        rows = max(1, options.batch_tokens // length)
        chosen = usable[torch.randint(len(usable), (rows,), generator=generator, device=pool.device)]
        yield pool[chosen[:, None] + torch.arange(length + 1, device=pool.device)].int()
        step += 1


@torch.no_grad()
def losses(net: Net, held: dict[str, Tensor], length: int) -> dict[str, float]:
    """Mean loss of each source's held-out tokens, and of all sources alike."""
    result = {}
    for name, tokens in held.items():
        width = min(length, len(tokens) - 1)
        count = min(64, (len(tokens) - 1) // width)
        rows = torch.stack([tokens[i * width : (i + 1) * width + 1] for i in range(count)])
        result[name] = net.loss(rows).item()
    result["mean"] = sum(result.values()) / len(result)
    return result


def fit(net: Net, pool: Tensor, starts: Tensor, held: dict[str, Tensor], options: Options) -> Report:
    """Train ``net`` in place: Muon for the matrices of the layers, AdamW for the embedding and the norms."""
    matrices = [w for n, w in net.named_parameters() if w.dim() == 2 and "embed" not in n]
    others = [w for n, w in net.named_parameters() if w.dim() != 2 or "embed" in n]
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.Muon(matrices, lr=options.muon_lr, momentum=0.95, weight_decay=0.01),
        torch.optim.AdamW(others, lr=options.adam_lr, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    base = [options.muon_lr, options.adam_lr]
    loss_of = torch.compile(net.loss, dynamic=False) if options.compile else net.loss
    report, began, shown = Report(), time.monotonic(), 0.0
    for rows in batches(pool, starts, options):
        elapsed = time.monotonic() - began
        progress = max(report.tokens / options.tokens, elapsed / options.seconds)
        if progress >= 1:
            break
        for optimizer, lr in zip(optimizers, base, strict=True):
            optimizer.param_groups[0]["lr"] = lr * rate(progress, report.steps, options)
        with torch.autocast(pool.device.type, torch.bfloat16, enabled=pool.is_cuda):
            loss = loss_of(rows, options.spread)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        report.steps += 1
        report.tokens += rows.shape[0] * (rows.shape[1] - 1)
        if report.steps % 100 == 0 or report.steps == 1:
            report.curve.append((report.tokens, loss.item()))
        if elapsed - shown > 20:
            shown = elapsed
            speed = report.tokens / elapsed
            done = f"{elapsed:4.0f} s  step {report.steps}  {report.tokens / 1e6:.1f}M tokens"
            print(f"{done}  {speed:.0f} token/s  loss {loss.item():.3f}", flush=True)
    report.seconds = time.monotonic() - began
    report.losses = losses(net, held, options.short)
    return report


def load(folder: Path, device: torch.device) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """The pool, where its documents start, and the held-out tokens of each source."""
    pool = torch.from_numpy(np.fromfile(folder / "pool.bin", dtype=np.uint16).astype(np.int32)).to(device)
    starts = torch.from_numpy(np.load(folder / "starts.npy")).to(device)
    with np.load(folder / "val.npz") as held:
        return pool, starts, {k: torch.from_numpy(held[k].astype(np.int32)).to(device) for k in held}


def run(folder: Path, out: Path, shape: Shape, options: Options, start: Path | None = None) -> Report:
    """Train on the files of ``folder``, export to ``out`` and write ``out/../report.json``.

    ``start`` is an exported folder whose weights are trained further.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(options.seed)
    torch.set_float32_matmul_precision("high")
    net = Net(shape)
    if start is not None:
        weights = load_file(start / "model.safetensors")
        net.load_state_dict({name.removeprefix("model."): w.float() for name, w in weights.items()})
    net.to(device)
    print(f"{sum(w.numel() for w in net.parameters())} parameters on {device}")
    report = fit(net, *load(folder, device), options)
    export(net, shape, Tokenizer.from_file(str(folder / "tokenizer.json")), out)
    (out.parent / "report.json").write_text(json.dumps(vars(report), indent=1) + "\n")
    print(f"{report.steps} steps, {report.tokens / 1e6:.1f}M tokens, {report.seconds:.0f} s")
    for name, value in report.losses.items():
        print(f"  {name:12s} {value:.4f}")
    return report


def main() -> None:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tokens", type=float, required=True)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--batch-tokens", type=int, default=Options.batch_tokens)
    parser.add_argument("--start", type=Path, help="an exported folder to train further")
    parser.add_argument("--rate", type=float, default=1.0, help="factor of both learning rates")
    parser.add_argument(
        "--decay", type=float, default=Options.decay, help="the last part, in which they fall"
    )
    parser.add_argument("--compile", action="store_true")
    given = parser.parse_args()
    options = Options(
        tokens=given.tokens,
        seconds=given.seconds,
        batch_tokens=given.batch_tokens,
        muon_lr=Options.muon_lr * given.rate,
        adam_lr=Options.adam_lr * given.rate,
        decay=given.decay,
        compile=given.compile,
    )
    run(given.folder, given.out, Shape(), options, given.start)


if __name__ == "__main__":
    main()
