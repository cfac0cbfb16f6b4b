"""Chapter 8: a pool of 64 tokens, five requests, and who has to wait.

Four requests need 13 + 13 + 12 + 23 = 61 tokens until their end, so the fifth, which needs 13, is admitted
only when they are gone. The values of a step are read right after its forward.

    python examples/ch08_cache_manager.py
"""

from minisgl.core import SamplingParams
from minisgl.engine import ForwardOutput
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.scheduler import ForwardInput

LENGTHS = [5, 5, 4, 15, 5]
NUM_PAGES = 64
MAX_TOKENS = 8


class WatchedLLM(LLM):
    """Prints the state of the cache after every forward."""

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        output = super()._forward(forward_input)
        batch = forward_input.batch
        uids = str([req.uid for req in batch.reqs])
        print(
            f"{batch.phase:<7} uids={uids:<12}",
            f"waiting={len(self.prefill_manager.pending_list)}",
            f"free pages={len(self.cache_manager.free_slots)}",
            f"reserved for running={self.decode_manager.inflight_tokens}",
            sep="  ",
        )
        return output


def main() -> None:
    config = tiny_config()
    llm = WatchedLLM(
        (config, tiny_state_dict(config, seed=0)),
        max_running_req=8,
        num_page_override=NUM_PAGES,
        page_size=1,
        max_seq_len_override=128,
        cache_type="naive",
    )
    print(f"prompt lengths {LENGTHS}, max_tokens = {MAX_TOKENS}")
    prompts = [prompt(i, length) for i, length in enumerate(LENGTHS)]
    llm.generate(prompts, SamplingParams(max_tokens=MAX_TOKENS, ignore_eos=True))
    llm.cache_manager.check_integrity()
    print(f"free pages {len(llm.cache_manager.free_slots)} / {NUM_PAGES}, integrity check passed")


if __name__ == "__main__":
    main()
