"""Chapter 10: a long prompt is computed in pieces, and the result is the same.

python examples/ch10_chunked_prefill.py
"""

from minisgl.core import SamplingParams
from minisgl.engine import ForwardOutput
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import ForwardInput

PROMPTS = [prompt(0, 50), prompt(1, 9), prompt(2, 6)]
PARAMS = SamplingParams(max_tokens=4, ignore_eos=True)


class WatchedLLM(LLM):
    """Prints what each step computes: tokens of each request, joined by +."""

    verbose = True

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        batch = forward_input.batch
        if self.verbose:
            print(batch.phase, "[" + "+".join(str(req.extend_len) for req in batch.reqs) + "]")
        return super()._forward(forward_input)


def main() -> None:
    config = tiny_config()
    model = (config, tiny_state_dict(config, seed=0))
    chunked = WatchedLLM(model, num_page_override=128, max_extend_tokens=16)
    whole = WatchedLLM(model, num_page_override=128)
    whole.verbose = False
    results = chunked.generate(PROMPTS, PARAMS)
    expected = whole.generate(PROMPTS, PARAMS)
    same = [r["token_ids"] for r in results] == [r["token_ids"] for r in expected]
    print("equal to unchunked:", same)


if __name__ == "__main__":
    main()
