"""Chapter 16: two ranks share every layer, and speak twice a layer.

python examples/ch16_tensor_parallel.py
"""

from collections import Counter

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import trace

PROMPTS = [prompt(0, 5), prompt(1, 9)]
PARAMS = SamplingParams(max_tokens=8, ignore_eos=True)


def main() -> None:
    config = tiny_config()
    model = (config, tiny_state_dict(config, seed=0))
    alone = LLM(model, num_page_override=64)
    expected = [result["token_ids"] for result in alone.generate(PROMPTS, PARAMS)]
    rows = qkv_rows(alone)

    shared = LLM(model, num_page_override=64, tp_size=2)
    print(f"qkv rows {qkv_rows(shared)} of {rows}")
    with trace.recording(trace.Recorder()) as recorder:
        tokens = [result["token_ids"] for result in shared.generate(PROMPTS, PARAMS)]
    counts = Counter(event["type"] for event in recorder.events)
    reduces, gathers = (counts[kind] // counts["forward_start"] for kind in ("all_reduce", "all_gather"))
    print(f"per forward: {reduces} all-reduce, {gathers} all-gather")
    print("same tokens:", tokens == expected)
    shared.shutdown()


def qkv_rows(llm: LLM) -> int:
    weights = llm.engine.model.state_dict()
    return len(weights["model.layers.0.self_attn.qkv_proj.weight"])


if __name__ == "__main__":
    main()
