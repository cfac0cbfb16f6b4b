"""The fused experts compile for an H100 or H200 where there is none: Triton brings its own assembler."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

PROGRAM = """
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from minisgl.kernel.triton import fused_moe

POINTERS = dict.fromkeys(("sorted_ids", "expert_ids", "num_post_pad", "ids"), "*i32") | {"weights": "*fp32"}
SHARED_MEMORY = 227 * 1024


def compile(kernel, dtype, constants, **options):
    names = kernel.arg_names
    types = {name: POINTERS.get(name, "i32") for name in names}
    types |= {name: "*" + dtype for name in ("x", "w", "out", "logits") if name in names}
    if "stride_wk" in names:
        constants = {"stride_wk": 1, **constants}
    types |= dict.fromkeys(constants, "constexpr")
    even = {"hidden_size", "size", "stride_we", "stride_wn"}
    even |= {name for name in names if types[name][0] == "*"}
    aligned = {(i,): [["tt.divisibility", 16]] for i, name in enumerate(names) if name in even}
    values = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(kernel, types, values, aligned)
    built = triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)
    assert built.asm["cubin"] and built.metadata.shared <= SHARED_MEMORY, built.metadata.shared


for dtype in ("bf16", "fp32"):
    for block_size in (16, 128):
        settings = fused_moe.settings_of(block_size, dtype == "fp32")
        options = {name: settings.pop(name) for name in ("num_warps", "num_stages")}
        for kernel in (fused_moe.gate_up_kernel, fused_moe.down_kernel):
            compile(kernel, dtype, {"BLOCK_N": 64 if block_size == 16 else 128, **settings}, **options)
compile(fused_moe.align_kernel, "bf16", {"BLOCK_SIZE": 16, "BINS": 256, "CHUNK": 1024}, num_warps=4)
routing = {"TOP_K": 8, "RENORMALIZE": True, "BLOCK_E": 128, "BLOCK_K": 8}
compile(fused_moe.topk_softmax_kernel, "bf16", routing, num_warps=1)
print("compiled")
"""


@pytest.mark.slow
def test_for_hopper() -> None:
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=280,
        env=environment,
    )
    assert done.returncode == 0 and done.stdout.strip() == "compiled", done.stderr
