"""The benchmark runs as its heading says. Its figures are not judged here."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_cpu_benchmark_prints_its_figures() -> None:
    command = [sys.executable, "benchmarks/engine_cpu.py", "--model", "random", "--repeats", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "model random, 1 thread(s), 32 tokens in, 128 out, float32"
    assert [line.split()[0] for line in lines[1:]] == ["transformers"] + ["minisgl,"] * 2 + [
        "scheduler,"
    ] * 2 + ["radix"] * 3
