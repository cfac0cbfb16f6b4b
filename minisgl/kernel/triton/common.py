"""What the launchers share."""

from __future__ import annotations

import functools

import torch
import triton
import triton.language as tl

from ...utils import cdiv


@functools.cache
def _device_has_pdl(index: int) -> bool:
    return torch.cuda.get_device_capability(index) >= (9, 0)


def has_pdl(x: torch.Tensor) -> bool:
    """Whether kernels on x's device may start before the one in front has ended (Hopper and later).

    Programmatic dependent launch hides a kernel's start, about 1 us of some 3 that a small one takes. Such a
    kernel must call `wait_for_inputs` before it touches what an earlier kernel writes or still reads, and may
    read weights before that. https://docs.nvidia.com/cuda/cuda-c-programming-guide/#programmatic-dependent-launch-and-synchronization
    """
    return x.is_cuda and _device_has_pdl(x.device.index)


# Kernels say `do_not_specialize_on_alignment` of indices that lie anywhere in a longer tensor: otherwise a
# batch of another size, whose indices begin elsewhere, would wait for a compiler.


@triton.jit
def wait_for_inputs(PDL: tl.constexpr):
    """Wait until the kernels in front have ended and their results can be read."""
    if PDL:
        tl.extra.cuda.gdc_wait()


@triton.jit
def release_next(PDL: tl.constexpr):
    """Let the kernel behind start as soon as every program of this one has come here."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()


@triton.jit
def prefetch_lines(pointers):
    """Ask for the lines at these places to come into the L2 cache."""
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;",
        "=r,l",
        [pointers],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


def next_power_of_2(n: int) -> int:
    """The least power of 2 that is at least n, which is at least 1. Triton's own takes microseconds."""
    return 1 << (n - 1).bit_length()


def warps_for(elements: int, per_thread: int = 8) -> int:
    """Warps for a program on `elements` elements, a power of 2 between 1 and 8."""
    return min(max(next_power_of_2(cdiv(elements, 32 * per_thread)), 1), 8)
