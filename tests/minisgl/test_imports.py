"""The CPU path needs torch and the standard library only: a browser has nothing else."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import torch
from minisgl.core import Batch, Req, SamplingParams, flat_positions
from minisgl.engine import Engine, EngineConfig
from minisgl.models.tiny import prompt, tiny_config, tiny_state_dict

config = tiny_config()
model = (config, tiny_state_dict(config, 0))
engine = Engine(EngineConfig(model=model, num_page_override=8, max_running_req=1))
req = Req(torch.tensor(prompt(0, 5), dtype=torch.int32), 0, 0, 1, 0, SamplingParams(), None)
batch = Batch([req], "prefill")
rows, batch.positions = flat_positions([req])
batch.input_ids = req.input_ids
batch.out_loc = torch.arange(5, dtype=torch.int32)
engine.page_table[0, :5] = batch.out_loc
engine.attn_backend.prepare_metadata(batch)
assert engine.forward_batch(batch, engine.sampler.prepare(batch)).next_tokens_cpu.shape == (1,)
unwanted = "transformers tokenizers safetensors huggingface_hub triton zmq fastapi msgspec gguf"
print(sorted(set(unwanted.split()) & set(sys.modules)))
"""


def test_a_forward_imports_no_heavy_package() -> None:
    result = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[]"
