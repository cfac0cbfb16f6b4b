"""Chapter 19: a kernel of our own that writes keys and values into the pool.

Without a GPU it runs in Triton's interpreter, one program after the other.

    python examples/ch19_kernels.py
"""

import os

import torch

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
if DEVICE == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported

from minisgl.kernel import reference  # noqa: E402
from minisgl.kernel.triton.store import store_cache  # noqa: E402
from minisgl.models.tiny import tiny_config  # noqa: E402


def main() -> None:
    config, slots = tiny_config(), 32
    torch.manual_seed(0)
    k, v = torch.randn(2, 7, config.num_kv_heads, config.head_dim, device=DEVICE).unbind()
    loc = torch.randperm(slots, device=DEVICE)[:7].int()
    ours, expected = torch.zeros(2, 2, slots, config.num_kv_heads, config.head_dim, device=DEVICE).unbind()
    store_cache(k, v, loc, *ours.unbind())
    reference.store_cache(k, v, loc, *expected.unbind())
    print("store equal to reference:", torch.equal(ours, expected) and bool(ours.any()))
    print("a row has", k[0].numel() * k.itemsize, "bytes")


if __name__ == "__main__":
    main()
