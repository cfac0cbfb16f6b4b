"""The engine writes the same tokens on the shim as on real torch: one program, run by both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHIM = [str(ROOT / "web" / "torch_shim"), str(ROOT / "web" / "tab_io")]
PROGRAM = ROOT / "tests" / "torch_shim" / "tokens_program.py"
JOBS = [*(f"tiny {arch}" for arch in ("qwen3", "qwen2", "llama", "mistral", "qwen3_moe")), "bundled"]


@cache
def run(*front: str) -> dict[str, Any]:
    """What the program prints, with these folders in front of the path."""
    path = os.pathsep.join([*front, str(ROOT)])
    env = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, str(PROGRAM)], capture_output=True, text=True, env=env, cwd=ROOT, timeout=280
    )
    assert result.returncode == 0, result.stderr[-3000:]
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_shim_is_what_runs() -> None:
    assert run(*SHIM)["torch"] == "2.13.0+minisgl" != run()["torch"]


@pytest.mark.parametrize("job", JOBS)
def test_same_tokens(job: str) -> None:
    theirs, ours = run()["results"][job], run(*SHIM)["results"][job]
    assert theirs.keys() == ours.keys() and theirs
    for name, expected in theirs.items():
        assert ours[name] == expected, f"{job}, {name}"


def test_nothing_is_imported_that_the_tab_lacks() -> None:
    """tokenizers and safetensors are the tab's own there."""
    assert run(*SHIM)["imported"] == []
