"""Chapter 21: what a number may claim. Tokens computed are the same on every machine, times are not.

Sixteen prompts share 400 of their 416 tokens. Times go to the error stream: they are for you to read.

    python examples/ch21_benchmark.py
"""

import sys
from time import perf_counter

from minisgl.core import SamplingParams
from minisgl.engine import ForwardOutput
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import ForwardInput

SHARED, LENGTH = 400, 416
PROMPTS = [prompt(0, SHARED) + prompt(i, LENGTH - SHARED) for i in range(1, 17)]
PARAMS = SamplingParams(max_tokens=4, ignore_eos=True)


class CountingLLM(LLM):
    """Counts the tokens that prefills compute."""

    prefilled = 0

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        if forward_input.batch.is_prefill:
            self.prefilled += len(forward_input.batch.positions)
        return super()._forward(forward_input)


def main() -> None:
    config = tiny_config()
    model = (config, tiny_state_dict(config, seed=0))
    prefilled, tokens = {}, {}
    for cache in ("naive", "radix"):
        llm = CountingLLM(
            model, num_page_override=16 * 420, max_extend_tokens=LENGTH, cache_type=cache, overlap=False
        )
        start = perf_counter()
        results = llm.generate(PROMPTS, PARAMS)
        print(f"{cache}: {perf_counter() - start:.3f} s", file=sys.stderr)
        prefilled[cache], tokens[cache] = llm.prefilled, [result["token_ids"] for result in results]
    print(f"naive {prefilled['naive']}, radix {prefilled['radix']} tokens prefilled")
    print("same tokens:", tokens["naive"] == tokens["radix"])


if __name__ == "__main__":
    main()
