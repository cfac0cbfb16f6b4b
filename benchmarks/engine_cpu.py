"""Speed on the CPU, beside transformers in the same run.

    python benchmarks/engine_cpu.py [--model minisgl-tiny | FOLDER | random] [--threads 1] [--repeats 3]

Greedy, float32, 32 tokens in, 128 out, the best of the repeats, both engines in turn. `random` has random
weights in the bundled model's shape. The scheduler's share is this thread's CPU time in a step outside of the
forward.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

import torch
import transformers

from minisgl.core import Batch, SamplingParams
from minisgl.engine import BatchSamplingArgs, ForwardOutput, ModelSource
from minisgl.kvcache import create_prefix_cache
from minisgl.llm import LLM
from minisgl.models import resolve_model
from minisgl.models.tiny import hf_config_dict, tiny_config, tiny_state_dict

INPUT_LEN, OUTPUT_LEN, CONCURRENT = 32, 128, 16


class TimedLLM(LLM):
    """Adds up the CPU time spent in forwards."""

    def __init__(self, model: ModelSource) -> None:
        super().__init__(model, num_page_override=8192, max_seq_len_override=512, cache_type="naive")
        self.forward_s, self.steps = 0.0, 0
        run = self.engine.forward_batch

        def timed(batch: Batch, args: BatchSamplingArgs) -> ForwardOutput:
            start = time.thread_time()
            output = run(batch, args)
            self.forward_s += time.thread_time() - start
            self.steps += 1
            return output

        self.engine.forward_batch = timed  # type: ignore[method-assign]


def random_model() -> tuple[ModelSource, transformers.PreTrainedModel]:
    """Random weights in the shape of the bundled model, for both engines."""
    config = tiny_config(
        vocab_size=6144, hidden_size=256, num_layers=7, num_qo_heads=6, head_dim=64, intermediate_size=768
    )
    config = replace(config, rotary_config=replace(config.rotary_config, head_dim=64))
    state_dict = tiny_state_dict(config, 0)
    settings = hf_config_dict(config)
    peer_config = transformers.AutoConfig.for_model(settings.pop("model_type"), **settings)
    peer = transformers.AutoModelForCausalLM.from_config(peer_config)
    peer.load_state_dict(state_dict, strict=False)
    return (config, state_dict), peer


def measure(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="minisgl-tiny")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)

    if args.model == "random":
        source, peer = random_model()
    else:
        source = args.model
        peer = transformers.AutoModelForCausalLM.from_pretrained(
            resolve_model(args.model), dtype=torch.float32
        )
    peer.eval()
    peer.generation_config.eos_token_id = None  # it, too, ignores the end of a text
    llm = TimedLLM(source)
    vocab_size = llm.engine.model_config.vocab_size
    prompts = [
        torch.randint(vocab_size, (INPUT_LEN,), generator=torch.Generator().manual_seed(i)).tolist()
        for i in range(CONCURRENT)
    ]
    params = SamplingParams(max_tokens=OUTPUT_LEN, ignore_eos=True)

    def peer_one() -> None:
        ids = torch.tensor(prompts[:1])
        with torch.inference_mode():
            peer.generate(  # type: ignore[operator]
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=OUTPUT_LEN,
                do_sample=False,
                pad_token_id=0,
            )

    seconds = dict.fromkeys(("peer", 1, CONCURRENT), float("inf"))
    shares = dict.fromkeys((1, CONCURRENT), float("inf"))
    for _ in range(args.repeats):
        seconds["peer"] = min(seconds["peer"], measure(peer_one))
        for count in shares:
            llm.forward_s, llm.steps = 0.0, 0
            start = time.thread_time()
            seconds[count] = min(seconds[count], measure(lambda: llm.generate(prompts[:count], params)))  # noqa: B023
            outside = time.thread_time() - start - llm.forward_s
            shares[count] = min(shares[count], outside / llm.steps)

    one, other = OUTPUT_LEN / seconds[1], OUTPUT_LEN / seconds["peer"]
    many = CONCURRENT * OUTPUT_LEN / seconds[CONCURRENT]
    print(f"model {args.model}, {args.threads} thread(s), {INPUT_LEN} tokens in, {OUTPUT_LEN} out, float32")
    print(f"transformers generate, 1 request   {other:8.1f} token/s")
    print(f"minisgl, 1 request                 {one:8.1f} token/s   {one / other:5.2f} x transformers")
    print(
        f"minisgl, {CONCURRENT} requests               {many:8.1f} token/s   {many / one:5.2f} x one by one"
    )
    print(f"scheduler, 1 request               {shares[1] * 1e6:8.1f} us a step")
    print(f"scheduler, {CONCURRENT} requests             {shares[CONCURRENT] * 1e6:8.1f} us a step")
    for length in (1_000, 10_000, 100_000):
        cache = create_prefix_cache(device=torch.device("cpu"), type="radix")
        ids = torch.arange(length, dtype=torch.int32)
        cache.insert_prefix(ids, ids)
        fastest = min(measure(lambda: cache.match_prefix(ids)) for _ in range(20))  # noqa: B023
        print(f"radix match of {length:7,} tokens         {fastest * 1e6:8.1f} us")


if __name__ == "__main__":
    main()
