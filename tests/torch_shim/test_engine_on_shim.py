"""The engine's own tests, run with the shim in place of torch. What is left out, and why: left_out.txt."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("web/torch_shim", "web/tab_io", "tests/torch_shim", "tests", ".")
PARTS = {
    "core": [
        "test_core.py",
        "test_env.py",
        "kernel",
        "kvcache",
        "layers",
        "moe",
        "trace",
        "utils",
        "tokenizer",
    ],
    "engine": ["attention", "engine", "models"],
    "scheduler": ["scheduler"],
    "llm": ["llm"],
}


def run(*tests: str) -> str:
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(str(ROOT / folder) for folder in FOLDERS),
        "OMP_NUM_THREADS": "1",
    }
    command = [sys.executable, "-m", "pytest", "-p", "on_shim", "-p", "no:cacheprovider", *tests]
    result = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    return result.stdout


def count(output: str) -> int:
    found = re.search(r"(\d+) passed", output)
    assert found is not None, output[-500:]
    return int(found[1])


@pytest.mark.slow
@pytest.mark.timeout(1500)
@pytest.mark.parametrize(("part", "least"), [("core", 190), ("engine", 190), ("scheduler", 60), ("llm", 180)])
def test_the_engines_tests_pass_on_the_shim(part: str, least: int) -> None:
    output = run(*[f"tests/minisgl/{name}" for name in PARTS[part]])
    assert count(output) >= least, "tests were left out"


def test_some_of_them_quickly() -> None:
    """Those of the radix cache and of scheduling rules: a change that breaks the shim shows in a minute."""
    output = run(
        "tests/minisgl/kvcache/test_radix_cache.py", "tests/minisgl/test_core.py", "tests/minisgl/layers"
    )
    assert count(output) >= 60


def test_what_is_left_out_exists() -> None:
    """A line that names no test any more would hide nothing, and be forgotten."""
    for line in (ROOT / "tests" / "torch_shim" / "left_out.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            path, _, name = line.partition("::")
            assert (ROOT / path).exists(), line
            assert not name or f"def {name.partition('[')[0]}(" in (ROOT / path).read_text(
                encoding="utf-8"
            ), line
