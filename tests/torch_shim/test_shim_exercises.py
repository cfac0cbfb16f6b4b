"""What the tab runs of each exercise holds on the shim: samples on the solution, and the engine with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_samples_and_engine_of_every_exercise() -> None:
    path = os.pathsep.join(str(ROOT / folder) for folder in ("web/torch_shim", "web/tab_io", "."))
    result = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "torch_shim" / "exercises_program.py")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        cwd=ROOT,
        timeout=280,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    found = json.loads(result.stdout)
    assert found["torch"] == "2.13.0+minisgl"
    assert len(found["exercises"]) >= 16
    for key, done in found["exercises"].items():
        assert done["samples"] > 0, key
        assert done.get("tokens", found["reference"]) == found["reference"], key
