"""The benchmark runs as its heading says. Its figures are not judged here."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--overlap"]])
def test_the_schedulers_benchmark_prints_its_figures(options: list[str]) -> None:
    command = [sys.executable, "benchmarks/scheduler_cpu.py", "--steps", "3", "--page-size", "16", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(":")[0] for line in lines] == [
        *(f"page size 16, {count:3} requests" for count in (1, 64, 256)),
        *(f"admission of {n} tokens, {what}" for n in (4096, 32768) for what in ("new", "cached")),
    ]
