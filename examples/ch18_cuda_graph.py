"""Chapter 18: a graph reads from fixed places. The emulated one does so on a CPU.

python examples/ch18_cuda_graph.py
"""

import torch

from minisgl.core import Batch, SamplingParams
from minisgl.engine.graph import GraphCaptureBuffer, GraphRunner
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

PROMPTS = [prompt(0, 5), prompt(1, 5), prompt(2, 4)]
PARAMS = SamplingParams(max_tokens=8, ignore_eos=True)


def generate(**settings: object) -> list[list[int]]:
    config = tiny_config()
    llm = LLM((config, tiny_state_dict(config, seed=0)), num_page_override=64, max_running_req=4, **settings)
    return [result["token_ids"] for result in llm.generate(PROMPTS, PARAMS)]


def main() -> None:
    expected = generate()
    padded: list[int] = []
    replay = GraphRunner.replay

    def watched(self: GraphRunner, batch: Batch) -> torch.Tensor:
        padded.append(batch.padded_size)
        return replay(self, batch)

    GraphRunner.replay = watched
    graph = {"emulate_graph": True, "cuda_graph_bs": [1, 2, 4], "cuda_graph_max_bs": 4}
    same = generate(**graph) == expected
    print(f"replays {len(padded)}, padded to {padded[0]}")
    print("same tokens:", same)

    def without_positions(self: GraphCaptureBuffer, batch: Batch) -> None:
        self.input_ids[: batch.padded_size] = batch.input_ids
        self.out_loc[: batch.padded_size] = batch.out_loc

    GraphCaptureBuffer.copy_from = without_positions
    print("positions not copied, same tokens:", generate(**graph) == expected)


if __name__ == "__main__":
    main()
