"""Chapter 1: three integers say where a request stands.

A prompt of 6 tokens, 2 of them cached already, and 3 tokens to generate: one prefill, then decodes.

    python examples/ch01_core.py
"""

import torch

from minisgl.core import Batch, Context, Req, SamplingParams


def make_req(uid: int) -> Req:
    return Req(
        input_ids=torch.tensor([3, 14, 25, 36, 47, 58], dtype=torch.int32),
        table_idx=0,
        cached_len=2,
        output_len=3,
        uid=uid,
        sampling_params=SamplingParams(max_tokens=3),
        cache_handle=None,
    )


def main() -> None:
    req = make_req(0)
    lengths, extends = [(req.cached_len, req.device_len)], []
    while req.can_decode:
        extends.append(req.extend_len)
        req.complete_one()
        lengths.append((req.cached_len, req.device_len))
    print("(cached_len, device_len):", *(f"({cached},{device})" for cached, device in lengths))
    print("extend", *extends)

    ctx, batch = Context(page_size=1), Batch([req], "decode")
    try:
        with ctx.forward_batch(batch), ctx.forward_batch(batch):
            print("two batches run at once")
    except RuntimeError as error:
        print("nested forward_batch: RuntimeError:", error)
    print("two equal requests: a set of", len({make_req(1), make_req(1)}))


if __name__ == "__main__":
    main()
