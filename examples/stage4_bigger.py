"""Stage 4, faster and bigger: experts shared between ranks, decode steps replayed from graphs.

On a CPU the graphs are emulated and the ranks talk through gloo. On two GPUs, LLM(..., device="cuda",
tp_size=2) is the same with CUDA graphs and NCCL.

    python examples/stage4_bigger.py
"""

from collections import Counter

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict
from minisgl.utils import trace

PROMPTS = [prompt(0, 12), prompt(1, 5), prompt(0, 12) + prompt(2, 3)]
PARAMS = SamplingParams(max_tokens=8, ignore_eos=True)


def main() -> None:
    config = tiny_config("qwen3_moe")
    model = (config, tiny_state_dict(config, seed=0))
    expected = LLM(model, num_page_override=128).generate(PROMPTS, PARAMS)

    llm = LLM(
        model,
        num_page_override=128,
        max_running_req=4,
        tp_size=2,
        emulate_graph=True,
        overlap=True,
        moe_backend="fused",
    )
    with trace.recording(trace.Recorder()) as recorder:
        results = llm.generate(PROMPTS, PARAMS)
    counts = Counter(event["type"] for event in recorder.events)
    print(f"{config.num_experts} experts in {config.num_layers} layers, shared by 2 ranks")
    print(f"{counts['graph_replay']} of {counts['forward_start']} steps replayed from a graph")
    print("same tokens:", [r["token_ids"] for r in results] == [r["token_ids"] for r in expected])
    llm.shutdown()


if __name__ == "__main__":  # needed: the other rank is a process that imports this file
    main()
