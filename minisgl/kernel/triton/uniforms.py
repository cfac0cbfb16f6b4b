"""What the sampler needs of each request, from its tables.

Why: the random number of a request and position is a dozen operations on 64-bit integers, each of them a
launch in torch.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from ...utils import cdiv
from .common import has_pdl, release_next, wait_for_inputs

# splitmix64, as in engine/sample.py
_GOLDEN = tl.constexpr(0x9E3779B97F4A7C15)
_FACTOR_1 = tl.constexpr(0xBF58476D1CE4E5B9)
_FACTOR_2 = tl.constexpr(0x94D049BB133111EB)

_BLOCK = 256  # requests a program: one number for all batches, so that none of them waits for a compiler


@triton.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["rows", "positions"])
def gather_sampling_kernel(
    temperatures,
    states,
    rows,
    positions,
    out_temperatures,
    out_uniforms,
    n,
    BLOCK: tl.constexpr,
    PDL: tl.constexpr,
):
    """Program j does block j of the requests."""
    wait_for_inputs(PDL)
    release_next(PDL)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    row = tl.load(rows + i, mask=mask, other=0)
    position = tl.load(positions + i, mask=mask, other=0).to(tl.int64)
    value = (tl.load(states + row, mask=mask, other=0) + position).to(tl.uint64, bitcast=True) + _GOLDEN
    value = (value ^ (value >> 30)) * _FACTOR_1
    value = (value ^ (value >> 27)) * _FACTOR_2
    value = (value ^ (value >> 31)) >> 11
    tl.store(out_uniforms + i, value.to(tl.float64) * (1.0 / (1 << 53)), mask=mask)
    tl.store(out_temperatures + i, tl.load(temperatures + row, mask=mask, other=0.0), mask=mask)


def gather_sampling(
    temperatures: torch.Tensor, states: torch.Tensor, rows: torch.Tensor, positions: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    n = len(rows)
    out = torch.empty(n, dtype=torch.float32, device=rows.device)
    uniforms = torch.empty(n, dtype=torch.float64, device=rows.device)
    if n == 0:
        return out, uniforms
    pdl = has_pdl(rows)
    gather_sampling_kernel[(cdiv(n, _BLOCK),)](
        temperatures,
        states,
        rows,
        positions,
        out,
        uniforms,
        n,
        BLOCK=_BLOCK,
        PDL=pdl,
        launch_pdl=pdl,
    )
    return out, uniforms
