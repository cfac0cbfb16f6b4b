"""Generate with many settings and print all tokens as JSON: run on real torch and on the shim."""

from __future__ import annotations

import json
import sys
from typing import Any

import torch

from minisgl.core import SamplingParams
from minisgl.llm import LLM
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

LACKING = [
    "zmq",
    "msgspec",
    "fastapi",
    "uvicorn",
    "triton",
    "prometheus_client",
    "jinja2",
    "httpx",
    "transformers",
    "gguf",
]
ENGINES: dict[str, dict[str, Any]] = {
    "plain": {},
    "overlap": {"overlap": True},
    "mixed": {"mixed": True, "max_extend_tokens": 12},
    "chunked": {"max_extend_tokens": 7},
    "pages": {"page_size": 4},
    "retract": {"admission": "optimistic", "num_page_override": 40},
    "naive": {"cache_type": "naive"},
    "graph": {"emulate_graph": True, "cuda_graph_max_bs": 4},
}
CHOICES: dict[str, dict[str, Any]] = {
    "greedy": {},
    "seeded": {"temperature": 0.9, "seed": 7},
    "top_k": {"temperature": 1.1, "top_k": 8, "seed": 3},
    "top_p": {"temperature": 1.0, "top_p": 0.8, "min_p": 0.01, "seed": 4},
    "penalties": {"repetition_penalty": 1.2, "presence_penalty": 0.3, "frequency_penalty": 0.2},
    "all": {
        "temperature": 0.8,
        "top_k": 50,
        "top_p": 0.9,
        "repetition_penalty": 1.1,
        "seed": 5,
        "logprobs": 3,
    },
}


def tokens(results: Any) -> list[Any]:
    """Tokens, and log-probabilities rounded to what two ways of adding agree about."""
    return [
        [
            result["token_ids"],
            [round(entry["logprob"], 3) for entry in result["logprobs"]] if result["logprobs"] else None,
        ]
        for result in results
    ]


def tiny(arch: Any) -> dict[str, Any]:
    config = tiny_config(arch)
    model = config, tiny_state_dict(config, 0)
    prompts = [prompt(i, 3 + 5 * i) for i in range(4)] + [prompt(1, 20)]
    found = {}
    for name, settings in ENGINES.items():
        if arch != "qwen3" and name not in ("plain", "pages"):
            continue
        llm = LLM(model, **{"num_page_override": 256, "max_running_req": 8} | settings)
        params = SamplingParams(max_tokens=12, ignore_eos=True)
        found[f"{name}, greedy"] = tokens(llm.generate(prompts, params))
        if name in ("plain", "overlap"):
            for choice, fields in CHOICES.items():
                params = SamplingParams(max_tokens=10, ignore_eos=True, **fields)
                found[f"{name}, {choice}"] = tokens(llm.generate(prompts, params))
        llm.shutdown()
    return found


def bundled() -> dict[str, Any]:
    llm = LLM(num_page_override=1024, max_running_req=8)
    prompts = ["从前有一只猫", "The prefix cache", "<|im_start|>user\nhello<|im_end|>\n"]
    found = {}
    for choice, fields in CHOICES.items():
        results = llm.generate(prompts, SamplingParams(max_tokens=12, **fields))
        found[choice] = [*tokens(results), [result["text"] for result in results]]
    llm.shutdown()
    return found


results = {f"tiny {arch}": tiny(arch) for arch in ("qwen3", "qwen2", "llama", "mistral", "qwen3_moe")}
results["bundled"] = bundled()
imported = sorted(set(LACKING) & set(sys.modules))
print(json.dumps({"torch": torch.__version__, "results": results, "imported": imported}))
