"""Chapter 7: requests come and go, and every step computes for all that are there.

python examples/ch07_scheduler.py
"""

from minisgl.core import SamplingParams
from minisgl.engine import ForwardOutput
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import ForwardInput

LENGTHS = [5, 5, 4, 15, 5]
MAX_TOKENS = [8, 2, 8, 1, 8]


class WatchedLLM(LLM):
    """Prints who computes in each step."""

    forwards = 0

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        batch = forward_input.batch
        uids = "[" + ",".join(str(req.uid) for req in batch.reqs) + "]"
        print(batch.phase, uids, *([f"{len(batch.positions)} tokens"] if batch.is_prefill else []))
        self.forwards += 1
        return super()._forward(forward_input)


def main() -> None:
    config = tiny_config()
    llm = WatchedLLM(
        (config, tiny_state_dict(config, seed=0)),
        max_running_req=8,
        max_seq_len_override=128,
        num_page_override=8 * 128,
    )
    prompts = [prompt(i, length) for i, length in enumerate(LENGTHS)]
    llm.generate(prompts, [SamplingParams(max_tokens=n, ignore_eos=True) for n in MAX_TOKENS])
    # alone, a request needs one forward for each of its tokens
    print(f"{llm.forwards} forwards, one by one {sum(MAX_TOKENS)}")


if __name__ == "__main__":
    main()
