"""Models of every kind and of odd shapes compute what transformers computes."""

from __future__ import annotations

from typing import Any

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minisgl.models.config import ModelConfig, RotaryConfig
from minisgl.models.tiny import Arch, prompt, tiny_config

ARCHS: list[Arch] = ["llama", "mistral", "qwen2", "qwen3", "qwen3_moe"]


@st.composite
def rotaries(draw: st.DrawFn, head_dim: int) -> RotaryConfig:
    kind = draw(st.sampled_from(["default", "default", "llama3", "yarn"]))
    base = draw(st.sampled_from([100.0, 10000.0, 1e6]))
    scaling: dict[str, float] = {}
    if kind != "default":
        scaling = {"factor": draw(st.sampled_from([1.5, 4.0, 8.0])), "original_max_position_embeddings": 16.0}
    if kind == "llama3":
        scaling |= {"low_freq_factor": 1.0, "high_freq_factor": draw(st.sampled_from([2.0, 4.0]))}
    if kind == "yarn" and draw(st.booleans()):
        scaling |= {"attention_factor": draw(st.sampled_from([0.7, 1.0, 1.3]))}
    if kind == "yarn" and draw(st.booleans()):
        scaling |= {"beta_fast": 8.0, "beta_slow": 2.0}
    return RotaryConfig(head_dim, 128, base, kind, scaling)


@st.composite
def configs(draw: st.DrawFn) -> ModelConfig:
    arch = draw(st.sampled_from(ARCHS))
    kv_heads, group = draw(st.sampled_from([1, 2, 3])), draw(st.sampled_from([1, 2, 4]))
    heads, head_dim = kv_heads * group, draw(st.sampled_from([2, 6, 16, 20]))
    hidden = draw(st.sampled_from([24, 40, 72]))
    if arch in ("llama", "qwen2"):  # transformers wants it so of these
        hidden = heads * draw(st.sampled_from([6, 10]))
    has_biases = draw(st.booleans())
    changes: dict[str, Any] = {
        "num_layers": draw(st.integers(1, 3)),
        "hidden_size": hidden,
        "num_qo_heads": heads,
        "num_kv_heads": kv_heads,
        "head_dim": head_dim,
        "intermediate_size": draw(st.sampled_from([20, 52])),
        "vocab_size": draw(st.sampled_from([512, 515, 601])),
        "rms_norm_eps": draw(st.sampled_from([1e-6, 1e-5])),
        "tie_word_embeddings": draw(st.booleans()),
        "rotary_config": draw(rotaries(head_dim)),
    }
    if arch in ("llama", "qwen3", "qwen3_moe"):
        changes |= {"qkv_bias": has_biases, "o_bias": has_biases}
    if arch == "llama":
        changes |= {"mlp_bias": draw(st.booleans())}
    if arch == "qwen3_moe":
        changes |= {
            "num_experts": draw(st.sampled_from([1, 5, 8])),
            "moe_intermediate_size": draw(st.sampled_from([12, 28])),
            "norm_topk_prob": draw(st.booleans()),
            "decoder_sparse_step": draw(st.sampled_from([1, 1, 2])),
        }
        changes["num_experts_per_tok"] = min(changes["num_experts"], draw(st.integers(1, 3)))
    return tiny_config(arch, **changes)


@settings(
    deadline=None,
    max_examples=30,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(config=configs(), page_size=st.sampled_from([1, 4]), moe_backend=st.sampled_from(["torch", "fused"]))
def test_logits(config: ModelConfig, page_size: int, moe_backend: str, driver, peer) -> None:
    """Two prompts in one prefill, then decodes; a prompt goes beyond the context before stretching."""
    run = driver(config, page_size, moe_backend=moe_backend)
    model = peer(config, run.weights)
    reqs = [run.start(prompt(0, 21), new=3), run.start(prompt(1, 2), new=3)]
    for _ in range(3):
        known = [req.input_ids.tolist() for req in reqs]
        logits = run.step(reqs)
        for ours, ids in zip(logits, known, strict=True):
            with torch.no_grad():
                theirs = model(torch.tensor([ids])).logits[0, -1]
            assert (ours - theirs).abs().max() <= 2e-5 * theirs.abs().max().clamp(min=1)
