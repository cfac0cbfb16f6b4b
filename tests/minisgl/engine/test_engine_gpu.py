"""The same source on a CUDA device."""

from __future__ import annotations

import pytest
import torch

from minisgl.core import SamplingParams
from minisgl.models.tiny import prompt, tiny_config

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.mark.parametrize("arch", ["qwen3", "qwen2", "llama"])
@pytest.mark.parametrize("page_size", [1, 16])
def test_tokens_equal_those_of_the_cpu(arch: str, page_size: int, driver) -> None:
    """Greedy ones, and seeded ones: random numbers do not depend on the device."""
    sampled = SamplingParams(temperature=0.8, top_k=20, top_p=0.9, seed=3)
    tokens = []
    for device in ("cpu", "cuda"):
        run = driver(tiny_config(arch), page_size, device=device)
        reqs = [run.start(prompt(0, 5), new=8), run.start(prompt(1, 20), new=8, params=sampled)]
        tokens.append(run.generate(reqs))
    assert tokens[0] == tokens[1]


def test_pool_takes_the_free_memory() -> None:
    from minisgl.engine import Engine, EngineConfig
    from minisgl.models.tiny import tiny_state_dict

    config = tiny_config()
    engine = Engine(
        EngineConfig(model=(config, tiny_state_dict(config, 0)), device="cuda", max_running_req=4)
    )
    assert engine.num_pages == 4 * 2048, "as many as the rows can fill"
    assert engine.kv_cache.device.type == "cuda"
