"""Chapter 20: tokens that chose different experts share one matrix product.

python examples/ch20_moe.py
"""

import os

os.environ["TRITON_INTERPRET"] = "1"  # the fused kernel runs in Triton's interpreter where there is no GPU

import torch
import transformers

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import hf_config_dict, prompt, tiny_config, tiny_state_dict
from minisgl.moe.fused import moe_align_block_size

IDS, NEW = prompt(0, 9), 6


def main() -> None:
    topk_ids = torch.tensor([[1, 3], [0, 1], [1, 2]], dtype=torch.int32)
    sorted_ids, expert_ids, num_post_pad = moe_align_block_size(topk_ids, 2, 4)
    print(sorted_ids.tolist(), expert_ids.tolist(), num_post_pad.tolist())

    config = tiny_config("qwen3_moe")
    weights = tiny_state_dict(config, seed=0)
    tokens = {}
    for backend in ("torch", "fused"):
        llm = LLM((config, weights), num_page_override=64, max_running_req=2, moe_backend=backend)
        results = llm.generate([IDS], SamplingParams(max_tokens=NEW, ignore_eos=True))
        tokens[backend] = results[0]["token_ids"]
    print("fused (interpreter) equals torch:", tokens["fused"] == tokens["torch"])

    hf_config = transformers.AutoConfig.for_model(**hf_config_dict(config))
    model = transformers.AutoModelForCausalLM.from_config(hf_config, attn_implementation="eager").eval()
    stacked = {name: weight for name, weight in weights.items() if ".experts." not in name}
    for layer in range(config.num_layers):
        # transformers stacks the experts' weights as well, gate above up
        prefix = f"model.layers.{layer}.mlp.experts."
        parts = [
            [weights[f"{prefix}{expert}.{part}_proj.weight"] for part in ("gate", "up", "down")]
            for expert in range(config.num_experts)
        ]
        stacked[f"{prefix}gate_up_proj"] = torch.stack([torch.cat(part[:2]) for part in parts])
        stacked[f"{prefix}down_proj"] = torch.stack([part[2] for part in parts])
    model.load_state_dict(stacked, strict=False)  # the head is the embedding
    ids = torch.tensor([IDS])
    expected = model.generate(
        ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, do_sample=False, eos_token_id=None,
        pad_token_id=0,
    )  # fmt: skip
    print("equal to transformers:", tokens["torch"] == expected[0, len(IDS) :].tolist())


if __name__ == "__main__":
    main()
