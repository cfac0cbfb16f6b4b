"""The shim in WebAssembly, where numpy's indices have 32 bits: in Pyodide, as in the tab, under Node."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from expressions import PRINTED, SAME

from tools.runtime.numpy_wheel import numpy_wheel

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "torch_shim"
PYODIDE = ROOT / "web" / "node_modules" / "pyodide"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def in_wasm(program: Path) -> str:
    node = shutil.which("node")
    assert node, "Node is needed: it runs Pyodide"
    assert PYODIDE.is_dir(), "Pyodide is needed: npm ci in web/"
    command = [node, str(HERE / "in_wasm.mjs"), str(PYODIDE), str(numpy_wheel()), str(ROOT), str(program)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout.strip().splitlines()[-1]


def test_values_dtypes_and_printing(tmp_path: Path) -> None:
    codes = [code for code in PRINTED + SAME if "data_ptr" not in code]
    program = tmp_path / "program.py"
    program.write_text(
        f"import json, torch\ncodes = json.loads({json.dumps(json.dumps(codes))})\n"
        "print(json.dumps([repr(eval(code, {'w': torch})) for code in codes]))\n",
        encoding="utf-8",
    )
    ours = json.loads(in_wasm(program))
    for code, got in zip(codes, ours, strict=True):
        if "Parameter" not in code:
            assert got == repr(eval(code, {"w": torch})), code


def test_the_engine_writes_the_same_tokens() -> None:
    program = HERE / "tokens_program.py"
    env = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    real = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, cwd=ROOT, env=env)
    assert real.returncode == 0, real.stderr[-2000:]
    theirs, ours = json.loads(real.stdout), json.loads(in_wasm(program))
    assert ours["torch"] == "2.13.0+minisgl" and ours["imported"] == []
    assert ours["results"] == theirs["results"]
